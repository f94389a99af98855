// The example application serves the built modules of the client in this folder.
export * from 'tokenlib/client'
