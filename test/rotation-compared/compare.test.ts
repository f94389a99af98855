import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { toChart, toPage } from '../../tools/compare/rotation-report.js'
import { type Comparison, measureRule, parseSeeds, PUBLISHED, type RuleFigures, SETTINGS } from './compare.js'
import { findRule, RULES } from './rules.js'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const published = JSON.parse(read('test/rotation-compared/results.json')) as Comparison

// Few enough for every day. Every claim below is far from being a matter of chance.
const SEEDS = Array.from({ length: 25 }, (_, at) => at + 1)

describe.each(SETTINGS)('with access tokens of $accessMs ms and a grace of $graceMs ms', (setting) => {
  const figures = new Map(RULES.map((rule) => [rule.name, measureRule(rule, setting, SEEDS)]))
  const of = (name: string): RuleFigures => figures.get(name) as RuleFigures

  test('our rule logs no honest user out', () => {
    const { manyTabs, oneTab } = of('successorUsed').honest
    expect([manyTabs.loggedOut, oneTab.loggedOut]).toEqual([0, 0])
    expect(manyTabs.refreshes).toBe(of('none').honest.manyTabs.refreshes)
    expect(manyTabs.refreshes).toBeGreaterThan(20 * SEEDS.length)
  })

  test('our rule stops every thief after two rotations of the victim at most, on a good and on a bad network', () => {
    const { calmThieves, roughThieves } = of('successorUsed')
    for (const thieves of [calmThieves, roughThieves]) {
      for (const [kind, { sessions, mostRotations }] of Object.entries(thieves)) {
        expect(sessions, kind).toBe(SEEDS.length)
        expect(mostRotations, kind).toBeLessThanOrEqual(2)
      }
    }
    expect(calmThieves.eager.caught).toBe(SEEDS.length)
    expect(calmThieves.follower.caught).toBe(SEEDS.length)
  })

  test('without rotation nobody is logged out, and no thief is caught', () => {
    const { honest, calmThieves, roughThieves } = of('none')
    expect([honest.manyTabs.loggedOut, honest.oneTab.loggedOut]).toEqual([0, 0])
    for (const { caught } of [...Object.values(calmThieves), ...Object.values(roughThieves)]) {
      expect(caught).toBe(0)
    }
  })

  test('reuse detection without a grace catches every thief, and logs honest users out', () => {
    const { honest, calmThieves } = of('noGrace')
    for (const { caught } of Object.values(calmThieves)) expect(caught).toBe(SEEDS.length)
    expect(honest.manyTabs.loggedOut).toBe(SEEDS.length)
    expect(honest.oneTab.loggedOut).toBeGreaterThan(0)
  })

  test.each(['sameGeneration', 'storedAnswer'])(
    '%s logs honest users out, and never finds a follower',
    (name) => {
      const { honest, calmThieves } = of(name)
      expect(honest.manyTabs.loggedOut).toBeGreaterThan(0)
      expect(honest.oneTab.loggedOut).toBeGreaterThan(0)
      expect(calmThieves.eager.caught).toBe(SEEDS.length)
      expect(calmThieves.follower.caught).toBe(0)
      expect(calmThieves.follower.mostRotations).toBeGreaterThan(2)
    },
  )

  test('the newest token for the previous one never logs a single tab out, and never finds a follower', () => {
    const { honest, calmThieves } = of('newestForPrevious')
    expect(honest.oneTab.loggedOut).toBe(0)
    expect(honest.manyTabs.loggedOut).toBeGreaterThan(0)
    expect(calmThieves.follower.caught).toBe(0)
    expect(calmThieves.follower.mostRotations).toBeGreaterThan(2)
  })

  test('the same seeds give the same figures', () => {
    expect(measureRule(findRule('sameGeneration'), setting, SEEDS)).toEqual(of('sameGeneration'))
  })
})

test('the page and its picture are those of the last run, which was a whole one', () => {
  const page = read('docs/decisions/rotation-compared.md')
  expect(toPage(page, published)).toBe(page)
  expect(read('docs/images/rotation-chart.svg')).toBe(toChart(published))
  expect(published).toMatchObject(PUBLISHED)
  const described = (rules: readonly { name: string; title: string; stores: string }[]): unknown =>
    rules.map(({ name, title, stores }) => ({ name, title, stores }))
  for (const { rules } of published.settings) expect(described(rules)).toEqual(described(RULES))
})

test('the published figures are what the page says in words', () => {
  for (const { rules, accessMs, graceMs } of published.settings) {
    const ours = rules.at(-1) as RuleFigures
    expect([ours.honest.manyTabs.loggedOut, ours.honest.oneTab.loggedOut]).toEqual([0, 0])
    // "The follower has access for about one lifetime of an access token."
    expect(ours.calmThieves.follower.longestAccessMs).toBeLessThan(accessMs + graceMs)
    const followers = rules.filter(({ calmThieves }) => calmThieves.follower.caught === PUBLISHED.seeds)
    expect(followers.map(({ name }) => name)).toEqual(['noGrace', 'successorUsed'])
    const kind = rules.filter(({ honest }) => honest.manyTabs.loggedOut === 0)
    expect(kind.map(({ name }) => name)).toEqual(['none', 'successorUsed'])
  }
})

test('seeds are whole numbers', () => {
  expect(parseSeeds([])).toEqual(PUBLISHED)
  expect(parseSeeds(['--seeds', '5', '--first-seed', '9'])).toEqual({ seeds: 5, firstSeed: 9 })
  for (const wrong of ['0', '-1', '1.5', 'x']) expect(parseSeeds([`--seeds=${wrong}`])).toContain('--seeds')
})
