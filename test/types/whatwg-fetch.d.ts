// The types of graphql-yoga import those of @whatwg-node/fetch, which add the whole DOM to the program. Its globals
// differ from those of Node, and sources that have nothing to do with GraphQL would not compile.
export declare const fetch: typeof globalThis.fetch
export declare const Request: typeof globalThis.Request
export declare const Response: typeof globalThis.Response
export declare const Headers: typeof globalThis.Headers
export declare const createFetch: (options?: object) => object
