import { expect, test } from 'vitest'
import { toTables } from '../../tools/runtimes/report.js'
import { createRunner } from './runner.js'

interface Result {
  readonly name: string
  readonly outcome: string
  readonly reason?: string
}

async function run(declare: (runner: ReturnType<typeof createRunner>) => void): Promise<readonly Result[]> {
  const runner = createRunner()
  declare(runner)
  const results: Result[] = []
  await runner.run((result: Result) => void results.push(result))
  return results
}

test('steps run in order between the hooks of their group', async () => {
  const calls: string[] = []
  const note = (call: string) => async () => void calls.push(call)
  const results = await run(({ describe, test, beforeAll, afterAll }) => {
    describe('outer', () => {
      afterAll(note('after outer'))
      test('one', note('one'))
      describe('inner', () => {
        test('two', note('two'))
        beforeAll(note('before inner'))
      })
    })
  })
  expect(calls).toEqual(['one', 'before inner', 'two', 'after outer'])
  expect(results).toEqual([
    { name: 'outer > one', outcome: 'works' },
    { name: 'outer > inner > two', outcome: 'works' },
  ])
})

test('a step that throws fails with its causes, and the next one runs', async () => {
  const results = await run(({ test }) => {
    test('one', () => {
      throw new Error('outer', { cause: new TypeError('inner') })
    })
    test('two', () => 'no such thing here')
  })
  expect(results).toEqual([
    { name: 'one', outcome: 'fails', reason: 'Error: outer; caused by TypeError: inner' },
    { name: 'two', outcome: 'not offered', reason: 'no such thing here' },
  ])
})

test('a hook that throws fails its group, without its steps', async () => {
  const results = await run(({ describe, test, beforeAll }) => {
    describe('group', () => {
      beforeAll(() => Promise.reject(new Error('no server')))
      test('one', () => undefined)
    })
    test('two', () => undefined)
  })
  expect(results).toEqual([
    { name: 'group > before all', outcome: 'fails', reason: 'Error: no server' },
    { name: 'two', outcome: 'works' },
  ])
})

test('the tables show what works, what fails and why something is not offered', () => {
  const cell = { group: 'store', name: 'memory', notOffered: [] }
  const tables = toTables({
    date: '2026-01-01',
    versions: { bun: '1.0.0', deno: '2.0.0', workerd: '2026-01-01' },
    cells: [
      { ...cell, runtime: 'bun', outcome: 'works', steps: 7 },
      { ...cell, runtime: 'deno', outcome: 'fails', steps: 5, failures: ['one', 'two'] },
      { ...cell, runtime: 'workerd', outcome: 'not offered', reason: 'no files' },
    ],
  })
  expect(tables).toContain('| memory | works (7) | **fails** (2 of 7) | not offered |')
  expect(tables).toContain('- memory: no files (workerd)')
})
