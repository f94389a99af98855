const UNITS: readonly (readonly [name: string, seconds: number])[] = [
  ['year', 31_536_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
]

/** A length of time in its largest unit: `14 minutes`, rounded down. */
export function toWords(seconds: number): string {
  const whole = Math.floor(Math.abs(seconds))
  const [name, size] = UNITS.find(([, least]) => whole >= least) ?? ['second', 1]
  return toCount(Math.floor(whole / size), name)
}

/** The message of a thrown value. */
export function toMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The message of the package mariadb has the statement and its values too.
  const { sqlMessage } = error as { readonly sqlMessage?: unknown }
  return typeof sqlMessage === 'string' ? sqlMessage : error.message
}

/** A number with its noun: `1 session`, `2,000 sessions`. */
export function toCount(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

/** A length of time in words, in the largest unit that it has one of: `20 days`, `15 minutes`, `250 ms`. */
export function toDurationText(seconds: number): string {
  const [name, size] = UNITS.slice(1).find(([, length]) => seconds >= length) ?? ['', 0]
  if (size === 0) return toMillisecondsText(seconds * 1000)
  const count = Math.round((seconds / size) * 10) / 10
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

/** Milliseconds with as many digits as matter: `0.3 ms`, `12 ms`, `2.5 s`. */
export function toMillisecondsText(milliseconds: number): string {
  if (milliseconds >= 1000) return `${Math.round(milliseconds / 100) / 10} s`
  return `${milliseconds < 10 ? Math.round(milliseconds * 10) / 10 : Math.round(milliseconds)} ms`
}

/** A number of bytes: `12 MB`. */
export function toBytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const at = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${Math.round((bytes / 1000 ** at) * 10) / 10} ${units[at]}`
}

/** Names in a sentence: `a, b and c`. */
export function toListText(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** A moment seen from another, both in epoch milliseconds: `3 minutes ago`, `in 14 minutes`. */
export function toRelative(at: number, now: number): string {
  const seconds = (at - now) / 1000
  if (Math.abs(seconds) < 1) return 'now'
  return seconds < 0 ? `${toWords(seconds)} ago` : `in ${toWords(seconds)}`
}

/** A moment in ISO 8601 without milliseconds, or the number itself if it is not a valid date. */
export function toIsoTime(at: number): string {
  return Math.abs(at) > LAST_DATE ? String(at) : new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15

// Controls, which terminals obey; what sets the direction of text or is not seen; halves of surrogate pairs.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** Untrusted text, safe to print on a terminal: on one line, without control characters. */
export function toPrintable(text: string): string {
  return text.replaceAll(UNPRINTABLE, toEscape)
}

function toEscape(character: string): string {
  // Some of them are two units of UTF-16.
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')
}
