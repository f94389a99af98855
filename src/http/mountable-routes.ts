/** Routes of this package that every adapter can mount: `createSessionRoutes` and `createConsole` return them. */
export interface MountableRoutes {
  /** Where they are, without a slash at the end: `/auth`. */
  readonly path: string
  /** The response to a request, or `null` for one that is none of theirs. */
  handle(request: Request): Promise<Response | null>
}
