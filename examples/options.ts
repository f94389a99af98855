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
}

/** The options in a command line, or an `Error` that says what is wrong with it. */
export function parseOptions(args: readonly string[]): StartOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      framework: { type: 'string', default: FRAMEWORKS[0] },
      port: { type: 'string', default: '3000' },
      profile: { type: 'string', default: 'message' },
      'handle-errors': { type: 'boolean', default: false },
      store: { type: 'string', default: 'sqlite:tokenlib-example.sqlite' },
    },
  })
  return {
    framework: oneOf('--framework', values.framework, FRAMEWORKS),
    port: parsePort(values.port),
    profile: oneOf('--profile', values.profile, ['message', 'payload']),
    handleErrors: values['handle-errors'],
    store: parseStore(values.store),
  }
}

function oneOf<Value extends string>(option: string, given: string, allowed: readonly Value[]): Value {
  const value = allowed.find((candidate) => candidate === given)
  if (value === undefined) throw new Error(`${option} takes one of: ${allowed.join(', ')}`)
  return value
}

function parsePort(given: string): number {
  const port = Number(given)
  if (given === '' || !Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error('--port takes a number from 0 to 65535 (0 for any free one)')
  }
  return port
}

function parseStore(given: string): StoreChoice {
  if (given === 'memory' || given === 'callback') return { kind: given }
  if (/^rediss?:\/\/./.test(given)) return { kind: 'redis', url: given }
  if (/^postgres(?:ql)?:\/\/./.test(given)) return { kind: 'postgres', url: given }
  const path = /^sqlite:([^:].*)$/.exec(given)?.[1] ?? /^[^:]+\.(?:sqlite3?|db)$/.exec(given)?.[0]
  if (path !== undefined) return { kind: 'sqlite', path }
  // The value is not repeated: it may contain a password.
  throw new Error(
    '--store takes one of: sqlite:PATH, redis://… (or rediss://), postgres://… (or postgresql://), memory, callback',
  )
}
