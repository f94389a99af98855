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

/** What `npm start -- …` can choose. */
export interface ExampleOptions {
  readonly framework: Framework
  readonly port: number
  readonly profile: 'message' | 'payload'
  readonly handleErrors: boolean
}

/** The options in a command line, or an `Error` that says what is wrong with it. */
export function parseOptions(args: readonly string[]): ExampleOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      framework: { type: 'string', default: FRAMEWORKS[0] },
      port: { type: 'string', default: '3000' },
      profile: { type: 'string', default: 'message' },
      'handle-errors': { type: 'boolean', default: false },
    },
  })
  return {
    framework: oneOf('--framework', values.framework, FRAMEWORKS),
    port: parsePort(values.port),
    profile: oneOf('--profile', values.profile, ['message', 'payload']),
    handleErrors: values['handle-errors'],
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
