import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { toChart, toSvg } from '../../benchmarks/chart.js'
import { describeSetting } from '../../benchmarks/describe-setting.js'
import type { Results } from '../../benchmarks/results.js'
import { replaceSpeed, toSpeedSection } from '../../benchmarks/speed-section.js'
import { judgeTargets, TARGETS } from '../../benchmarks/targets.js'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const results = JSON.parse(read('benchmarks/results/latest.json')) as Results

test('the README says what the last run measured, word for word', () => {
  const readme = read('README.md')
  expect(readme).toContain(toSpeedSection(results))
  expect(replaceSpeed(readme, results)).toBe(readme)
})

test('the chart is that of the last run', () => {
  expect(read('benchmarks/results/chart.svg')).toBe(toSvg(toChart(results.groups, describeSetting(results))))
})

test('the last run was a whole one, and its ratios follow from its samples', () => {
  expect(results.quick).toBe(false)
  expect(results.ratios).toEqual(judgeTargets(results.groups))
  expect(results.ratios.map(({ measure }) => measure)).toEqual(TARGETS.map(({ measure }) => measure))
})

test('a README without a place for the figures is an error', () => {
  expect(() => replaceSpeed('# tokenlib', results)).toThrow('no place')
})
