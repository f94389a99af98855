// Stands in for examples/server.js in a Worker, which cannot listen: the runtime calls its handler.
let handler

/** The handler that an example application would have served. */
export function readHandler() {
  return handler
}

/** Keeps the handler. */
export async function serveFetch(fetch) {
  handler = fetch
  return { url: '', close: async () => {} }
}
