/** Everything this library reads from a request. Adapters create one from their framework's request. */
export interface RequestView {
  /** Empty when it is not known, which counts as unsafe. */
  readonly method: string
  /** Absolute, or the path and query as a Node server gets them. */
  readonly url: string
  /** All values of a header, which is asked for in lower case, joined with commas (of `cookie`, with semicolons), or `null`. */
  header(name: string): string | null
  /**
   * The parsed body of a JSON or form request; `undefined` if it is missing, malformed, too large, or of another media
   * type. The route can still read it afterwards.
   */
  body(): Promise<unknown>
  /** The address of the other end of the connection, if the server knows it. */
  readonly ip?: string | null
  /** The client certificate of the connection in DER; `null` for none, and `undefined` if the server does not tell. */
  readonly certificate?: Uint8Array | null | undefined
}

/** How an adapter reads a request, from whatever object stands for one in its framework. */
export interface RequestReader<Source> {
  /** The value of a header if it came once, else `null`; `name` is in lower case. Creates no object. */
  readonly readHeader: (source: Source, name: string) => string | null
  /** For an adapter whose views find a body that the request itself does not have any more. */
  readonly readMethod?: (source: Source) => string | undefined
  /** The view of the request, the same one each time. */
  readonly toView: (source: Source) => RequestView
}

/** Returns the view of a request object. Calls `create` the first time, and returns the same view from then on. */
export function rememberView<Source extends object>(
  source: Source,
  create: (source: Source) => RequestView,
): RequestView {
  const known = readAttached(source, rememberView)
  if (known !== undefined) return known as RequestView
  const view = create(source)
  attach(source, rememberView, view)
  return view
}

const ATTACHED = Symbol('tokenlib')

/** A request or a view of one, with the first of the values that are attached to it. */
interface Owner {
  [ATTACHED]?: Attachment
}

// Private, so that nothing of it appears when a request is logged.
class Attachment {
  readonly #owner: object
  readonly #key: object
  #value: unknown
  readonly #next: Attachment | undefined

  constructor(owner: object, key: object, value: unknown, next: Attachment | undefined) {
    this.#owner = owner
    this.#key = key
    this.#value = value
    this.#next = next
  }

  // An object that inherits from the owner, or was copied from it, sees the owner's attachments: ignore them.
  static find(first: Attachment | undefined, owner: object, key: object): Attachment | undefined {
    for (let at = first; at !== undefined; at = at.#next) {
      if (at.#key === key && at.#owner === owner) return at
    }
    return undefined
  }

  static valueOf(attachment: Attachment | undefined): unknown {
    return attachment === undefined ? undefined : attachment.#value
  }

  static replace(attachment: Attachment, value: unknown): void {
    attachment.#value = value
  }
}

// For objects that cannot be extended. A WeakMap for all would cost every request a few microseconds.
const frozen = new WeakMap<object, Attachment>()
let hasFrozen = false

/** The value that was attached to an object last under a key, or `undefined`. */
export function readAttached(owner: object, key: object): unknown {
  return Attachment.valueOf(Attachment.find(firstOf(owner), owner, key))
}

/**
 * Attaches a value to an object for as long as the object lives; only code with the key can read it.
 *
 * Replaces the previous value: a GraphQL request may run one guard for tens of thousands of fields.
 */
export function attach(owner: object, key: object, value: unknown): void {
  const first = firstOf(owner)
  const own = Attachment.find(first, owner, key)
  if (own !== undefined) return Attachment.replace(own, value)
  const attachment = new Attachment(owner, key, value, first)
  try {
    ;(owner as Owner)[ATTACHED] = attachment
  } catch {
    frozen.set(owner, attachment)
    hasFrozen = true
  }
}

function firstOf(owner: Owner | null): Attachment | undefined {
  const found = owner?.[ATTACHED]
  // Some stand-ins for requests have something under every name.
  const first = found instanceof Attachment ? found : undefined
  return hasFrozen ? (frozen.get(owner as object) ?? first) : first
}

/**
 * Sets the client address of a request. For runtimes that pass it separately: Bun, Deno, Hono on Node, and
 * other servers of the Fetch standard. The last call counts.
 *
 * @example
 * Bun.serve({
 *   fetch(request, server) {
 *     setRequestIp(request, server.requestIP(request)?.address)
 *     return handler(request)
 *   },
 * })
 */
export function setRequestIp(request: object, ip: string | null | undefined): void {
  if (typeof request !== 'object' || request === null) {
    throw new TypeError('setRequestIp() takes a request and an address')
  }
  if (ip !== undefined && ip !== null && typeof ip !== 'string') {
    throw new TypeError('The address of a request must be a string, null or undefined')
  }
  attach(request, setRequestIp, ip ?? null)
}

/** Remembers the Node request that a Fetch request was made of: its socket has the client certificate. */
export function setNodeRequest(request: object, source: object): void {
  attach(request, setNodeRequest, source)
}

/** The Node request that a Fetch request was made of, or `undefined`. */
export function readNodeRequest(request: object): object | undefined {
  return readAttached(request, setNodeRequest) as object | undefined
}

/** The address that was set, or the `ip` that a framework has put on its request, or `null`. */
export function readRequestIp(request: object): string | null {
  const set = readAttached(request, setRequestIp) as string | null | undefined
  if (set !== undefined) return set
  const { ip } = request as { readonly ip?: unknown }
  return typeof ip === 'string' ? ip : null
}
