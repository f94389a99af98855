import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { withDeadline } from '../promises.js'
import { CommandError, EXIT } from './exit.js'

/** A package that talks to a database: its name, and what it exports. */
export interface Driver {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
}

/**
 * The first of the packages that is installed where the command was started; this package has none of its own.
 * `CommandError` names what to install.
 */
export async function loadDriver(names: readonly string[]): Promise<Driver> {
  const require = createRequire(join(process.cwd(), 'package.json'))
  for (const name of names) {
    const path = findModule(require, name)
    if (path === null) continue
    const loaded = (await import(path)) as Record<string, unknown>
    // What a CommonJS package exports is the default export, and not always the named ones too.
    const { default: main } = loaded
    return { name, exports: typeof main === 'object' && main !== null ? { ...loaded, ...main } : loaded }
  }
  const installable = names.filter((name) => !name.startsWith('node:'))
  throw new CommandError(
    `This store needs the package ${installable.join(' or ')}, which is not installed in this folder: ` +
      `npm install ${installable[0]}`,
    EXIT.usage,
  )
}

function findModule(require: NodeJS.Require, name: string): string | null {
  try {
    const path = require.resolve(name)
    return path.startsWith('node:') ? path : pathToFileURL(path).href
  } catch {
    return null
  }
}

/** An address for messages: without its password, and without parameters, which may have one too. */
export function hidePassword(url: string): string {
  const place = url.replace(/[?#].*$/, '')
  return place.replace(/^([a-z]+:\/\/)([^:@/]*)(?::.*)?@/, (_, scheme: string, user: string) =>
    user === '' ? scheme : `${scheme}${user}@`,
  )
}

/** The failure of a store as one sentence without its password. */
export function unavailable(url: string, cause: unknown): CommandError {
  const message = `The store ${hidePassword(url)} is unavailable: ${toReason(cause, url)}`
  return new CommandError(message, EXIT.unavailable, { cause })
}

/** What a store answers in time, or the `CommandError` for one that fails or takes longer. */
export async function inTime<Value>(
  url: string,
  timeoutMs: number,
  answer: PromiseLike<Value>,
): Promise<Value> {
  try {
    return await withDeadline(answer, timeoutMs, () => new Error(`no answer within ${timeoutMs} ms`))
  } catch (cause) {
    throw unavailable(url, cause)
  }
}

/** Waits for a connection to close, but not for one that is gone. */
export async function closeInTime(close: () => unknown): Promise<void> {
  try {
    await withDeadline(Promise.resolve(close()), CLOSE_TIMEOUT_MS, () => new Error('Not closed in time'))
  } catch {
    // The process ends anyway.
  }
}

const CLOSE_TIMEOUT_MS = 1000

function toReason(cause: unknown, url: string): string {
  // Several addresses were tried: localhost is one of IPv4 and one of IPv6.
  const [first = cause] = cause instanceof AggregateError ? (cause.errors as unknown[]) : []
  const text =
    first instanceof Error ? first.message || String((first as NodeJS.ErrnoException).code) : String(first)
  const password = /^[a-z]+:\/\/[^:@/]*:(.*)@/.exec(url)?.[1]
  if (password === undefined || password === '') return text
  return text.replaceAll(password, '[hidden]').replaceAll(decode(password), '[hidden]')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
