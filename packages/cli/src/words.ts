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

/** A number with its noun: `1 session`, `2,000 sessions`. */
export function toCount(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`
}

/** A moment seen from another, both in epoch milliseconds: `3 minutes ago`, `in 14 minutes`. */
export function toRelative(at: number, now: number): string {
  const seconds = (at - now) / 1000
  if (Math.abs(seconds) < 1) return 'now'
  return seconds < 0 ? `${toWords(seconds)} ago` : `in ${toWords(seconds)}`
}

/** A moment in ISO 8601 without milliseconds, or the number itself where no calendar has it. */
export function toIsoTime(at: number): string {
  return Math.abs(at) > LAST_DATE ? String(at) : new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

// ECMA-262 §21.4.1.1: no Date is later.
const LAST_DATE = 8.64e15

// Controls, which terminals obey; what sets the direction of text or is not seen; halves of surrogate pairs.
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu

/** A text from outside, safe to print on a terminal: in one line, without control characters. */
export function toPrintable(text: string): string {
  return text.replaceAll(UNPRINTABLE, toEscape)
}

function toEscape(character: string): string {
  // Some of them are two units of UTF-16.
  return [...Array(character.length).keys()]
    .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
    .join('')
}
