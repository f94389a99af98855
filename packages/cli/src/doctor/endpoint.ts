import type { StoreOrigin } from 'tokenlib/kit'

/** Where a store is, as far as its address or client tells. */
export interface Endpoint {
  /** `null` for a file or a socket on this machine, `undefined` if unknown. */
  readonly host: string | null | undefined
  /** `null` if missing or unknown. */
  readonly port: string | null
  /** `null` if unknown. */
  readonly isTls: boolean | null
  /** `null` if unknown. */
  readonly hasPassword: boolean | null
}

const PORTS = { redis: '6379', postgres: '5432', mysql: '3306', sqlite: null } as const

/** Where an address leads to. */
export function readAddress(address: string): Endpoint {
  if (address.startsWith('sqlite:')) return { host: null, port: null, isTls: null, hasPassword: null }
  const isRedis = /^rediss?:/.test(address)
  const kind = isRedis ? 'redis' : address.startsWith('postgres') ? 'postgres' : 'mysql'
  // PostgreSQL allows several hosts, which is not a valid URL: take the first one.
  const [, named = '', port] = /^[a-z]+:\/\/(?:.*@)?(\[[^\]]*\]|[^:/?,@]*)(?::(\d+))?/.exec(address) ?? []
  const host = named === '' ? readHostParameter(address) : decodeURIComponent(named)
  return {
    host,
    port: host === null ? null : (port ?? PORTS[kind]),
    isTls: isRedis ? address.startsWith('rediss:') : null,
    hasPassword: /^[a-z]+:\/\/[^/?#]*:[^/?#]+@/.test(address),
  }
}

// PostgreSQL takes the host from a parameter or the environment too.
function readHostParameter(address: string): string | null {
  if (!address.startsWith('postgres')) return null
  const named = /[?&]host=([^&]+)/.exec(address)?.[1]
  return named === undefined ? (process.env['PGHOST'] ?? null) : decodeURIComponent(named)
}

interface ClientOptions {
  readonly host?: unknown
  readonly port?: unknown
  readonly path?: unknown
  readonly socketPath?: unknown
  readonly tls?: unknown
  readonly password?: unknown
  readonly socket?: ClientOptions
  readonly connectionString?: unknown
}

interface Mysql2Pool {
  readonly pool?: Mysql2Pool
  readonly config?: { readonly connectionConfig?: ClientOptions }
}

/** Where the client of an application is connected to, by the options that it keeps. `mariadb` shows none. */
export function readClientEndpoint({ kind, client }: Pick<StoreOrigin, 'kind' | 'client'>): Endpoint {
  if (kind === 'sqlite') return { host: null, port: null, isTls: null, hasPassword: null }
  const options =
    kind === 'mysql' ? readMysql2(client) : (client as { readonly options?: ClientOptions }).options
  if (typeof options?.connectionString === 'string') return readAddress(options.connectionString)
  const { socket = options } = options ?? {}
  const [host, port] = [readFirst(socket?.host), readFirst(socket?.port)]
  const hasSocketFile = isText(socket?.path) || isText(socket?.socketPath)
  const isKnown = host !== null || hasSocketFile
  return {
    host: hasSocketFile ? null : (host ?? undefined),
    port: host === null || hasSocketFile ? null : (port ?? PORTS[kind]),
    isTls: isKnown && kind === 'redis' ? Boolean(socket?.tls) : null,
    hasPassword: isKnown ? isText(options?.password) : null,
  }
}

// A pool of `mysql2/promise` is around one with callbacks.
function readMysql2({ pool, config }: Mysql2Pool): ClientOptions | undefined {
  return pool === undefined ? config?.connectionConfig : readMysql2(pool)
}

// `postgres` keeps a list of hosts and one of ports.
function readFirst(value: unknown): string | null {
  const first: unknown = Array.isArray(value) ? value[0] : value
  return isText(first) || typeof first === 'number' ? String(first) : null
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** A place in a sentence: `db.example:5432`. */
export function toPlace({ host, port }: Endpoint): string {
  if (host === null) return 'this machine'
  return host === undefined ? 'the server' : port === null ? host : `${host}:${port}`
}

/** How redis-cli is called for the server that was checked; it reads a password from REDISCLI_AUTH. */
export function toRedisCli({ host, port, isTls }: Endpoint): string {
  const place =
    typeof host === 'string' ? ` -h ${host.replaceAll(/[[\]]/g, '')} -p ${port ?? PORTS.redis}` : ''
  return `redis-cli${place}${isTls === true ? ' --tls' : ''}`
}
