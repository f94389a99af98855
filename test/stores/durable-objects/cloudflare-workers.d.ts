// What the Workers of these tests use of the module that only workerd has.
declare module 'cloudflare:workers' {
  export const env: unknown
}
