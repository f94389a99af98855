// Runs the rules for rotating refresh tokens side by side in a simulation, and writes the figures of docs/decisions/rotation-compared.md.
// node tools/compare/rotation.js [--seeds <number>] [--first-seed <number>]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { importTypeScript } from '../shared/import-typescript.js'
import { root } from '../shared/root.js'
import { describeRule, toChart, toPage } from './rotation-report.js'

const { compareRules, parseSeeds } = await importTypeScript('test/rotation-compared/compare.ts')
const seeds = parseSeeds(process.argv.slice(2))
if (typeof seeds === 'string') {
  console.error(seeds)
  process.exit(2)
}
console.log(`Seeds ${seeds.firstSeed} to ${seeds.firstSeed + seeds.seeds - 1}`)
const comparison = compareRules(seeds, (figures, setting) => console.log(describeRule(figures, setting)))

if (process.argv.length === 2) {
  const page = join(root, 'docs/decisions/rotation-compared.md')
  writeFileSync(join(root, 'test/rotation-compared/results.json'), `${JSON.stringify(comparison, null, 2)}\n`)
  writeFileSync(join(root, 'docs/images/rotation-chart.svg'), toChart(comparison))
  writeFileSync(page, toPage(readFileSync(page, 'utf8'), comparison))
}
