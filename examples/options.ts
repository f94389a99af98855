import { parseArgs } from 'node:util'

/** The frameworks the application is written in; the first is the one that runs by default. */
export const FRAMEWORKS = [
  'nest',
  'nest-fastify',
  'fastify',
  'express',
  'hono',
  'koa',
  'h3',
  'elysia',
  'fetch',
] as const

/** Where the page of the application is. */
export const PAGE_PATH = '/app'

/** One of the frameworks. */
export type Framework = (typeof FRAMEWORKS)[number]

/** What a framework needs to know. */
export interface ExampleOptions {
  readonly framework: Framework
  readonly port: number
  readonly profile: 'message' | 'payload'
  readonly handleErrors: boolean
}

/** Where revocations are kept. */
export type StoreChoice =
  | { readonly kind: 'callback' | 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'redis' | 'postgres'; readonly url: string }

/** What `npm start -- …` can choose. */
export interface StartOptions extends ExampleOptions {
  readonly store: StoreChoice
  /** Whether checks are answered from a copy of the store in the memory of the process. */
  readonly replica: boolean
  /** How many processes share the store. */
  readonly processes: number
}

const OPTIONS = {
  framework: { type: 'string', default: FRAMEWORKS[0] },
  port: { type: 'string', default: '3000' },
  profile: { type: 'string', default: 'message' },
  'handle-errors': { type: 'boolean', default: false },
  store: { type: 'string', default: 'sqlite:tokenlib-example.sqlite' },
  replica: { type: 'boolean', default: false },
  processes: { type: 'string', default: '1' },
  help: { type: 'boolean', short: 'h' },
} as const

const MAX_PROCESSES = 16

const STORES = 'sqlite:PATH, redis://… (or rediss://), postgres://… (or postgresql://), memory, callback'

/** What `--help` prints. */
export const USAGE = `npm start -- [options]

  --framework NAME   one of: ${FRAMEWORKS.join(', ')}
                     (default ${OPTIONS.framework.default})
  --port NUMBER      where to listen, 0 for any free port (default ${OPTIONS.port.default})
  --profile KIND     what /profile returns: message or payload (default ${OPTIONS.profile.default})
  --handle-errors    responds to refused requests with 401, 403 or 503 instead of 500
  --store STORE      where revocations are kept, one of:
                     ${STORES}
                     (default ${OPTIONS.store.default})
  --replica          answers revocation checks from a copy of the store in memory, with a bound of 1 second
  --processes NUMBER starts 2 to ${MAX_PROCESSES} processes that share the store, each with a replica and a port of its own,
                     and prints how long a logout at one of them takes to arrive at the others
  -h, --help         prints this text

JWT_SECRET_KEY and the other fields of the configuration are read from the environment; without that one, a key is
generated at each start.`

/** Whether a command line asks for the options. */
export function wantsHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h')
}

/** The options in a command line, or an `Error` that says what is wrong with it. */
export function parseOptions(args: readonly string[]): StartOptions {
  assertKnownOptions(args)
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const processes = parseProcesses(values.processes)
  const options: StartOptions = {
    framework: oneOf('--framework', values.framework, FRAMEWORKS),
    port: parsePort(values.port),
    profile: oneOf('--profile', values.profile, ['message', 'payload']),
    handleErrors: values['handle-errors'],
    store: parseStore(values.store),
    replica: values.replica || processes > 1,
    processes,
  }
  assertCompatible(options)
  return options
}

/** The command line of one of several processes. */
export function toArguments(options: StartOptions): string[] {
  const { framework, port, profile, handleErrors, store, replica } = options
  const args = ['--framework', framework, '--port', String(port), '--profile', profile]
  if (handleErrors) args.push('--handle-errors')
  args.push('--store', describeChoice(store))
  if (replica) args.push('--replica')
  return args
}

function describeChoice(store: StoreChoice): string {
  if (store.kind === 'sqlite') return `sqlite:${store.path}`
  return 'url' in store ? store.url : store.kind
}

function assertCompatible({ store, replica, processes, port }: StartOptions): void {
  const isShared = store.kind !== 'memory' && store.kind !== 'callback'
  if (processes > 1 && !isShared) {
    throw new Error(
      '--processes needs a store that processes can share: sqlite:PATH, redis://… or postgres://…',
    )
  }
  if (replica && store.kind === 'callback')
    throw new Error('--replica needs a store: --store callback has none')
  if (port + processes - 1 > MAX_PORT) {
    throw new Error(`--port must be at most ${MAX_PORT + 1 - processes} for ${processes} processes`)
  }
}

function assertKnownOptions(args: readonly string[]): void {
  const { tokens } = parseArgs({ args: [...args], options: OPTIONS, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(OPTIONS, token.name)) continue
    throw new Error(
      `Unknown option ${token.rawName}; did you mean --${findNearest(token.name)}? --help lists all`,
    )
  }
}

function findNearest(given: string): string {
  const distances = Object.keys(OPTIONS).map((name) => ({
    name,
    distance: editDistance(given, name) / Math.max(given.length, name.length),
  }))
  return distances.reduce((best, next) => (next.distance < best.distance ? next : best)).name
}

// Levenshtein, one row of the table at a time.
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const substitution = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, substitution))
    }
    row = next
  }
  return row.at(-1) as number
}

function oneOf<Value extends string>(option: string, given: string, allowed: readonly Value[]): Value {
  const value = allowed.find((candidate) => candidate === given)
  if (value === undefined) throw new Error(`${option} takes one of: ${allowed.join(', ')}`)
  return value
}

const MAX_PORT = 65_535

function parsePort(given: string): number {
  const port = Number(given)
  if (given === '' || !Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    throw new Error('--port takes a number from 0 to 65535 (0 for any free one)')
  }
  return port
}

function parseProcesses(given: string): number {
  if (given === OPTIONS.processes.default) return 1
  const processes = Number(given)
  if (given === '' || !Number.isInteger(processes) || processes < 2 || processes > MAX_PROCESSES) {
    throw new Error(`--processes takes a number from 2 to ${MAX_PROCESSES}`)
  }
  return processes
}

function parseStore(given: string): StoreChoice {
  if (given === 'memory' || given === 'callback') return { kind: given }
  if (/^rediss?:\/\/./.test(given)) return { kind: 'redis', url: given }
  if (/^postgres(?:ql)?:\/\/./.test(given)) return { kind: 'postgres', url: given }
  const path = /^sqlite:([^:].*)$/.exec(given)?.[1] ?? /^[^:]+\.(?:sqlite3?|db)$/.exec(given)?.[0]
  if (path !== undefined) return { kind: 'sqlite', path }
  // The value is not repeated: it may contain a password.
  throw new Error(`--store takes one of: ${STORES}`)
}
