import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { toChart, toSvg } from '../../benchmarks/chart.js'
import { describeSetting, type Results, toPage } from '../../benchmarks/results.js'
import { judgeTargets, TARGETS } from '../../benchmarks/targets.js'

const read = (path: string): string =>
  readFileSync(new URL(`../../benchmarks/${path}`, import.meta.url), 'utf8')
const results = JSON.parse(read('results/latest.json')) as Results
const soak = JSON.parse(read('results/soak.json')) as object

test('the README of the benchmarks has the figures of the last runs, word for word', () => {
  const readme = read('README.md')
  expect(toPage(readme, results, soak)).toBe(readme)
})

test('the chart is that of the last run', () => {
  expect(read('results/chart.svg')).toBe(toSvg(toChart(results.groups, describeSetting(results))))
})

test('the last run was a whole one, and its ratios follow from its samples', () => {
  expect(results.isWhole).toBe(true)
  expect(results.ratios).toEqual(judgeTargets(results.groups))
  const measures = TARGETS.map(({ measure }) => measure)
  expect(results.ratios.map(({ measure }) => measure)).toEqual(measures)
})

test.each(['gains', 'targets', 'soak'])('a README without a place for the %s is an error', (section) => {
  const readme = read('README.md').replace(`<!-- ${section}: generated -->`, '')
  expect(() => toPage(readme, results, soak)).toThrow(`<!-- ${section}: generated -->`)
})
