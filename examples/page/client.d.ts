// The example application serves the client as one file next to the page.
export * from '@tokenlib/client'
