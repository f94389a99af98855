// First of all, before the library is loaded.
import { seeErrors } from './trap-errors.js'
import { inspect } from 'node:util'
import { PACKAGES } from '../../helpers/library-files.js'
import { current } from '../current-record.js'
import type { LeakRecord } from '../leak-record.js'
import { textsOfError } from '../shown-texts.js'
import type { ShownText } from '../shown-windows.js'

/** Sees every error that the library makes: those of its own classes, and plain ones. */
export function watchErrors(): void {
  seeErrors((error, isPlain) => {
    const { record } = current
    record?.show(isPlain ? 'plain errors' : 'errors', () => (isNews(error, record) ? readOwn(error) : []))
  })
}

// Reading a stack is slow, and a property test makes the same error a hundred thousand times.
function isNews(error: Error, record: LeakRecord): boolean {
  const { message, cause } = error
  return cause !== undefined || !record.isKnown(`${message} ${readFacts(error)}`)
}

// Its name and its code among them.
function readFacts(error: Error): string {
  try {
    return JSON.stringify(error)
  } catch {
    return inspect(error)
  }
}

// Tests make errors too, and may write into them what they like.
function readOwn(error: Error): readonly ShownText[] {
  const [, first = ''] = /^ +at (.*)$/m.exec(error.stack ?? '') ?? []
  return first.includes(PACKAGES) ? textsOfError(error) : []
}
