// Stands in for examples/server.js and for h3/node in a Worker, which cannot listen: the runtime calls its handler.
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

/** Keeps what `toNodeHandler` made. */
export const serveNode = serveFetch

/** The handler of an h3 application, for requests of the Fetch standard. */
export function toNodeHandler(app) {
  return (request) => app.fetch(request)
}
