import { expect, test } from 'vitest'
import { createGroup } from '../../benchmarks/group.js'
import { FRAMEWORKS, listContestants } from '../../benchmarks/http/contestants.js'
import { judgeTargets, TARGETS, toTable } from '../../benchmarks/targets.js'

function toSamples(figures: Record<string, (number | null)[]>) {
  return new Map(
    Object.entries(figures).map(([name, rounds]) => [
      name,
      rounds.map((perSecond) => (perSecond === null ? null : { perSecond })),
    ]),
  )
}

const koa = createGroup(
  'http Koa',
  'Koa',
  toSamples({ bare: [1000, 2000, 1000], tokenlib: [950, 1800, 800] }),
)

test('a target is held against the median of the ratios of all rounds', () => {
  expect(judgeTargets([koa])).toEqual([
    { measure: 'Koa guarded, against bare', target: 0.9, measured: 0.9, low: 0.8, high: 0.95, holds: true },
  ])
})

test('a ratio below the target does not hold', () => {
  const slow = createGroup('http Koa', 'Koa', toSamples({ bare: [1000], tokenlib: [899] }))
  expect(judgeTargets([slow]).map(({ holds }) => holds)).toEqual([false])
})

test('a target without figures is left out, not missed', () => {
  const alone = createGroup('http Koa', 'Koa', toSamples({ bare: [1000] }))
  expect(judgeTargets([alone])).toEqual([])
})

test('the table has a line for each verdict', () => {
  expect(toTable(judgeTargets([koa]))).toBe(
    [
      '| Measure                   | Target  | Measured | Spread      | Holds |',
      '| ------------------------- | ------- | -------- | ----------- | ----- |',
      '| Koa guarded, against bare | >= 0.90 | 0.90     | 0.80 – 0.95 | yes   |',
    ].join('\n'),
  )
})

test('a ratio that only just misses shows it', () => {
  const near = createGroup('http Koa', 'Koa', toSamples({ bare: [10_000], tokenlib: [8999] }))
  expect(toTable(judgeTargets([near]))).toContain('| 0.8999   |')
})

test.each([true, false])('every contestant over HTTP that a target names takes part (quick: %s)', (quick) => {
  for (const { group, of, against } of TARGETS) {
    const framework = group.slice('http '.length)
    if (!group.startsWith('http ')) continue
    expect(FRAMEWORKS).toContain(framework)
    const names = listContestants(framework, { quick, hasRedis: true }).map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining([of, against]))
  }
})

test('without Redis, nobody who asks it takes part', () => {
  const names = FRAMEWORKS.flatMap((name) => listContestants(name, { quick: false, hasRedis: false }))
  expect(names.filter(({ revocation }) => revocation === 'redis')).toEqual([])
})
