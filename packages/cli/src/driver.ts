import { realpathSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemScheduler, withDeadline } from 'tokenlib/kit'
import { CommandError, EXIT } from './exit.js'
import { toMessage } from './words.js'

/** A package that talks to a database: its name, and what it exports. */
export interface Driver {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
}

/**
 * The first of the packages in the `node_modules` of a folder; this package has none of its own. `CommandError` names what
 * to install.
 */
export async function loadDriver(names: readonly string[], folder: string): Promise<Driver> {
  const start = resolve(folder)
  for (const name of names) {
    const path = findModule(start, name)
    if (path === null) continue
    const loaded = (await import(path)) as Record<string, unknown>
    // What a CommonJS package exports is the default export, and not always the named ones too.
    const { default: main } = loaded
    return { name, exports: typeof main === 'object' && main !== null ? { ...loaded, ...main } : loaded }
  }
  const installable = names.filter((name) => !name.startsWith('node:'))
  throw new CommandError(
    `This store needs the package ${installable.join(' or ')}, which is not in ${join(start, 'node_modules')}: ` +
      `npm install ${installable[0]}, or name the folder of the application that has it with --drivers <folder>`,
    EXIT.usage,
  )
}

// Node looks in every folder above too, in ~/.node_modules and in NODE_PATH: somebody else may have put a package there,
// and it would get the password of the store.
function findModule(folder: string, name: string): string | null {
  const require = createRequire(join(folder, 'package.json'))
  try {
    if (name.startsWith('node:')) return isBuiltin(name) ? name : null
    // With links followed on both sides: pnpm has nothing but links there.
    const home = realpathSync(join(folder, 'node_modules', name))
    const path = realpathSync(require.resolve(name))
    return path.startsWith(home + sep) ? pathToFileURL(path).href : null
  } catch {
    return null
  }
}

/**
 * An address for messages: without its password, and without parameters, which may have one too. Only the scheme where
 * it is not certain what the password is.
 */
export function hidePassword(url: string): string {
  const [, scheme = '', authority = '', rest = ''] = ADDRESS.exec(url) ?? []
  if (!isUnambiguous(url)) return `${scheme || url.slice(0, url.indexOf(':') + 1)}[hidden]`
  if (scheme === '') return url.replace(/[?#].*$/, '')
  const at = authority.lastIndexOf('@')
  const [user = ''] = authority.slice(0, Math.max(at, 0)).split(/[:@]/)
  return `${scheme}${user === '' ? '' : `${user}@`}${authority.slice(at + 1)}${rest.replace(/[?#].*$/s, '')}`
}

// RFC 3986 §3.2: the authority ends at the first of / ? #
const ADDRESS = /^([a-z]+:\/\/)([^/?#]*)(.*)$/s

// With an @ behind the authority, what looks like its end may be a character of the password. Without //, drivers disagree
// on where the password is.
function isUnambiguous(url: string): boolean {
  const [, scheme, , rest = ''] = ADDRESS.exec(url) ?? []
  return url.startsWith('sqlite:') || (scheme !== undefined && URL.canParse(url) && !rest.includes('@'))
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
    return await withDeadline(
      systemScheduler,
      answer,
      timeoutMs,
      () => new Error(`no answer within ${timeoutMs} ms`),
    )
  } catch (cause) {
    throw unavailable(url, cause)
  }
}

/** Throws the client's own error if it is an error reply of the server, which `inTime` takes for a failed connection. */
export function rethrowAnswer(error: unknown, isAnswer: (cause: unknown) => boolean): never {
  throw error instanceof CommandError && isAnswer(error.cause) ? (error.cause as Error) : error
}

/** Waits for a connection to close, but not for one that is gone. */
export async function closeInTime(close: () => unknown): Promise<void> {
  try {
    await withDeadline(
      systemScheduler,
      Promise.resolve(close()),
      CLOSE_TIMEOUT_MS,
      () => new Error('Not closed in time'),
    )
  } catch {
    // The process ends anyway.
  }
}

const CLOSE_TIMEOUT_MS = 1000

function toReason(cause: unknown, url: string): string {
  // Several addresses were tried: localhost is one of IPv4 and one of IPv6.
  const [first = cause] = cause instanceof AggregateError ? (cause.errors as unknown[]) : []
  const text = toMessage(first) || String((first as NodeJS.ErrnoException).code)
  if (!isUnambiguous(url)) {
    // The text may have a part of the password, which the driver took for the host.
    const code = (first as { readonly code?: unknown } | null | undefined)?.code
    const reason = typeof code === 'string' && /^[A-Z0-9_]+$/.test(code) ? `${code}. ` : ''
    return ADDRESS.test(url)
      ? `${reason}Percent-encode / ? # @ in the user, the password and the parameters of the address`
      : `${reason}Write // after the scheme of the address`
  }
  return toSecrets(url).reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text)
}

// What is hidden in the text of a driver, the longest first: one may be a part of another.
function toSecrets(url: string): readonly string[] {
  const password = /^[a-z]+:\/\/[^:@/]*:(.*)@/.exec(url)?.[1] ?? ''
  // Shorter parameters are flags and numbers, which are parts of hosts and ports too.
  const parameters = [...url.matchAll(/[?&][^=&#]*=([^&#]{4,})/g)].map(([, value = '']) => value)
  return [password, ...parameters]
    .flatMap((secret) => [secret, decode(secret), decode(secret.replaceAll('+', ' '))])
    .filter((secret) => secret !== '')
    .toSorted((one, other) => other.length - one.length)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
