const UNITS: readonly [name: string, seconds: number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
]

/** A length of time in words, in the largest unit that it has one of: `20 days`, `15 minutes`, `250 ms`. */
export function toDurationText(seconds: number): string {
  const [name, size] = UNITS.find(([, length]) => seconds >= length) ?? ['', 0]
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
