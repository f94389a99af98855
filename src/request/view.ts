/** All that this library ever asks of a request; adapters translate their framework's request into one. */
export interface RequestView {
  /** Empty when it is not known, which counts as unsafe. */
  readonly method: string
  /** Absolute, or the path and query as a Node server gets them. */
  readonly url: string
  /** All values of a header, which is asked for in lower case, joined with commas (of `cookie`, with semicolons), or `null`. */
  header(name: string): string | null
  /**
   * The parsed body of a JSON or form request; `undefined` when there is none, it is malformed, too large, or of
   * another media type. The route can still read it afterwards.
   */
  body(): Promise<unknown>
  /** The address of the other end of the connection, where the server knows it. */
  readonly ip?: string | null
}
