// The example application serves the client as one file beside the page.
export * from '@tokenlib/client'
