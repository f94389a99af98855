import { expect, test } from 'vitest'
import { createGroup } from '../../benchmarks/figures.js'
import { listGroups } from '../../benchmarks/http/contestants.js'
import { countMet, judgeTargets, TARGETS, toTable } from '../../benchmarks/targets.js'

function toKoa(figures: Record<string, number[]>) {
  const samples = Object.entries(figures).map(
    ([name, costs]) => [name, costs.map((cost) => ({ cost }))] as const,
  )
  return [createGroup('http Koa', 'Koa', new Map(samples))]
}

const koa = toKoa({ bare: [96, 92, 88], tokenlib: [100, 100, 100] })

test('a target is held against the median of the ratios of all rounds', () => {
  expect(judgeTargets(koa)).toEqual([
    { measure: 'Koa vs. bare route', target: 0.92, measured: 0.92, low: 0.9, high: 0.94, isMet: true },
  ])
})

test('a ratio below the target misses it', () => {
  const [verdict] = judgeTargets(toKoa({ bare: [91], tokenlib: [100] }))
  expect(verdict?.isMet).toBe(false)
})

test('a target without figures is left out, not missed', () => {
  expect(judgeTargets(toKoa({ bare: [1000] }))).toEqual([])
})

test('the table has a row for each verdict, and a sentence counts them', () => {
  const verdicts = judgeTargets(koa)
  expect(toTable(verdicts)).toBe(
    [
      '| Measure            | Measured | Spread      | At least | Met |',
      '| ------------------ | -------- | ----------- | -------- | --- |',
      '| Koa vs. bare route | 0.92     | 0.90 – 0.94 | 0.92     | yes |',
    ].join('\n'),
  )
  expect(countMet([...verdicts, { ...verdicts[0]!, isMet: false }])).toBe('1 of 2 targets met.')
})

test('a ratio that only just misses shows it', () => {
  expect(toTable(judgeTargets(toKoa({ bare: [91.99], tokenlib: [100] })))).toContain('| 0.9199   |')
})

test.each([true, false])(
  'every contestant over HTTP that a target compares takes part (quick: %s)',
  (quick) => {
    const groups = listGroups({ quick, isWhole: false, hasRedis: true })
    for (const { group, of, against } of TARGETS.filter(({ group }) => group.startsWith('http '))) {
      const contestants = groups.find(({ title }) => `http ${title}` === group)?.contestants ?? []
      const always = contestants.filter(({ seldom }) => seldom !== true).map(({ name }) => name)
      expect(always).toEqual(expect.arrayContaining([of, against]))
    }
  },
)

test('without Redis, nobody who needs it takes part', () => {
  const groups = listGroups({ quick: false, isWhole: true, hasRedis: false })
  const contestants = groups.flatMap(({ contestants }) => contestants)
  expect(contestants.filter(({ revocation }) => ['Redis', 'replica'].includes(revocation))).toEqual([])
  expect(contestants.every(({ framework }) => framework.length > 0)).toBe(true)
})
