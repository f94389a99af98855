import { KeyObject } from 'node:crypto'
import { ConfigurationError } from '../errors.js'
import { type Duration, parseDuration } from '../time.js'
import { isJwk } from '../jws/jwk.js'

/** One kind of configuration field: what it accepts, and how it is spelled in an environment variable. */
export interface FieldKind<Value> {
  /** What a wrong value is told it should be. */
  readonly expected: string
  isValid(value: unknown): boolean
  /** The value in an environment variable; what it returns is checked like any other value. */
  fromText(text: string): Value | string
}

/** A non-empty text that passes a further test. */
export function text<Value extends string = string>(
  expected = 'a non-empty string',
  test: (value: string) => boolean = (value) => value !== '',
): FieldKind<Value> {
  return {
    expected,
    isValid: (value) => typeof value === 'string' && test(value),
    fromText: (value) => value,
  }
}

/** One of a few words. */
export function choice<Value extends string>(values: readonly Value[]): FieldKind<Value> {
  return text(`one of ${values.join(', ')}`, (value) => values.includes(value as Value))
}

/** A list of one kind, or a single value of it. In a variable: comma-separated, or a JSON array. */
export function listOf<Value extends string>(kind: FieldKind<Value>): FieldKind<Value | readonly Value[]> {
  return {
    expected: `a non-empty list, each ${kind.expected}`,
    isValid: (value) =>
      Array.isArray(value)
        ? value.length > 0 && value.every((item) => kind.isValid(item))
        : kind.isValid(value),
    fromText: (value) => (readJsonList(value) ?? readCommaList(value)) as Value[],
  }
}

/** `true` or `false`. */
export const flag: FieldKind<boolean> = {
  expected: 'true or false',
  isValid: (value) => typeof value === 'boolean',
  fromText: (value) => BOOLEANS[value.trim().toLowerCase()] ?? value,
}

/** A whole number from `minimum` up. */
export function count(minimum: number): FieldKind<number> {
  return {
    expected: `a whole number, at least ${minimum}`,
    isValid: (value) => Number.isSafeInteger(value) && (value as number) >= minimum,
    fromText: (value) => (/^\d+$/.test(value.trim()) ? Number(value) : value),
  }
}

/** A duration that passes a further test of its seconds. In a variable also bare seconds and `hh:mm:ss`. */
export function duration(
  expected = "a duration: seconds, a number with a unit ('15m') or ISO 8601 ('PT15M')",
  test: (seconds: number) => boolean = () => true,
): FieldKind<Duration> {
  return {
    expected,
    isValid(value) {
      try {
        return test(parseDuration(value as Duration))
      } catch {
        return false
      }
    },
    fromText: (value) => readClock(value.trim()) ?? value.trim(),
  }
}

const wholeSeconds = duration(
  "a duration of whole seconds, at least 1 (900, '15m', 'PT15M'), or false for never",
  (seconds) => Number.isSafeInteger(seconds) && seconds >= 1,
)

/** How long a token lives: a duration of whole seconds, or `false`. */
export const lifetime: FieldKind<Duration | false> = {
  expected: wholeSeconds.expected,
  isValid: (value) => value === false || wholeSeconds.isValid(value),
  fromText: (value) =>
    flag.fromText(value) === false && value.trim() !== '0' ? false : wholeSeconds.fromText(value),
}

/** Key material of any form; what it holds is checked when the keys are imported. */
export function key<Value extends object | string>(expected: string): FieldKind<Value> {
  return {
    expected,
    isValid: (value) =>
      typeof value === 'string' || value instanceof Uint8Array || value instanceof KeyObject || isJwk(value),
    // Variables often carry a PEM file in one line.
    fromText: (value) => (value.includes('-----BEGIN ') ? value.replaceAll('\\n', '\n') : value),
  }
}

/** Throws `ConfigurationError` unless the value is of the kind; its text never shows the value. */
export function assertKind(name: string, kind: FieldKind<unknown>, value: unknown): void {
  if (!kind.isValid(value)) throw new ConfigurationError(`${name} must be ${kind.expected}`)
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  1: true,
  yes: true,
  false: false,
  0: false,
  no: false,
}

function readJsonList(text: string): unknown[] | null {
  if (!text.trimStart().startsWith('[')) return null
  try {
    return JSON.parse(text) as unknown[]
  } catch {
    return null
  }
}

function readCommaList(text: string): string | string[] {
  return text.includes(',') ? text.split(',').map((item) => item.trim()) : text.trim()
}

function readClock(text: string): number | null {
  if (/^\d+$/.test(text)) return Number(text)
  const clock = /^(\d{1,3}):([0-5]\d):([0-5]\d)$/.exec(text)
  return clock && Number(clock[1]) * 3600 + Number(clock[2]) * 60 + Number(clock[3])
}
