import { inspect } from 'node:util'
import { isTokenError, toErrorResponse } from '../../packages/tokenlib/src/index.js'
import type { ShownText } from './shown-windows.js'

// Deep enough for everything this library builds. `showHidden` would show what was hidden on purpose.
const INSPECTION = { depth: 6, breakLength: Number.POSITIVE_INFINITY }

/** Everything an error shows, the answer to its client included. */
export function textsOfError(error: Error): ShownText[] {
  const name = error.constructor.name
  return [
    { origin: `the message of a ${name}`, text: error.message },
    { origin: `the stack of a ${name}`, text: withoutFrames(error.stack ?? '') },
    ...textsOfObject(name, error),
    { origin: `the properties of a ${name}`, text: readJson(Object.entries(error)) },
    ...(isTokenError(error)
      ? [{ origin: `the answer to a ${name}`, text: readJson(toErrorResponse(error)) }]
      : []),
  ]
}

/** Everything an object shows when it is logged or sent; its JSON alone where there is no time for more. */
export function textsOfObject(name: string, value: object, isThorough = true): ShownText[] {
  const json = { origin: `the JSON of a ${name}`, text: readJson(value) }
  if (!isThorough) return [json]
  return [
    json,
    { origin: `an inspected ${name}`, text: withoutFrames(inspect(value, INSPECTION)) },
    { origin: `a ${name} as text`, text: readText(value) },
  ]
}

/** A text without the frames of a stack: they have the names of functions and files, which no request ever chose. */
export function withoutFrames(stack: string): string {
  return stack.replaceAll(/^ +at .*\n?/gm, '')
}

// A cycle or a BigInt: nobody gets to see anything.
function readJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return ''
  }
}

// A payload has no prototype, and so no text.
function readText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return ''
  }
}
