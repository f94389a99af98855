import assert from 'node:assert'
import { syncBuiltinESMExports } from 'node:module'
import { beforeEach, expect } from 'vitest'

// The contracts and a few tests use the assertions of Node, which vitest does not count.
type Assertion = (...values: unknown[]) => unknown
const shared = globalThis as { countsNodeAssertions?: true }

// Not `match` and `doesNotMatch`: Node tells the two apart by their identity.
const COUNTED = [
  'deepEqual',
  'deepStrictEqual',
  'equal',
  'notEqual',
  'ok',
  'rejects',
  'strictEqual',
  'throws',
] as const

function countCallsOf(assertions: Record<(typeof COUNTED)[number], unknown>): void {
  for (const name of COUNTED) assertions[name] = createCounted(name, assertions[name] as Assertion)
}

function createCounted(name: string, original: Assertion): Assertion {
  return function counted(...values) {
    const { assertionCalls } = expect.getState()
    if (assertionCalls === 0) expect.setState({ assertionCalls: 1 })
    // Node would quote the line that calls `ok`, which is the one below.
    if (name === 'ok' && values.length === 1) values.push('Expected a truthy value')
    try {
      return original(...values)
    } catch (error) {
      if (error instanceof Error) Error.captureStackTrace(error, counted)
      throw error
    }
  }
}

// This file runs before every test file, most often in a thread where it has run before.
if (shared.countsNodeAssertions === undefined) {
  shared.countsNodeAssertions = true
  countCallsOf(assert)
  countCallsOf(assert.strict)
  syncBuiltinESMExports()
}

// Tests that run at the same time have an `expect` each; that of vitest counts for the one that started last.
beforeEach((context) => (context.task.concurrent === true ? context.expect : expect).hasAssertions())
