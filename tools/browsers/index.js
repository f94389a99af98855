// Runs the client and the session routes in real browsers: exit 1 if a promise is broken.
// node tools/browsers [--only chromium|firefox] [--scenario <name>] [--quick] [--json] [--rules]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeRun, toPage, toRulesPage } from './report.js'
import { importTypeScript } from '../shared/import-typescript.js'
import { root } from '../shared/root.js'

const { parseBrowserOptions, runBrowsers } = await importTypeScript('test/browser-evidence/run-browsers.ts')
const options = parseBrowserOptions(process.argv.slice(2))
if (typeof options === 'string') {
  console.error(options)
  process.exit(2)
}
const record = await runBrowsers(options, (run) => {
  if (!options.isJson) console.log(describeRun(run))
})
if (options.isJson) console.log(JSON.stringify(record, null, 2))

const given = process.argv.slice(2).join(' ')
if (given === '') {
  writeFileSync(join(root, 'test/browser-evidence/results.json'), `${JSON.stringify(record, null, 2)}\n`)
  writePage('docs/decisions/browser-evidence.md', toPage)
}
if (/^--rules( --quick)?$/.test(given)) writePage('docs/decisions/rotation-compared.md', toRulesPage)

// The other rules break what ours promises.
const broken = record.runs.filter(({ isOurs, problems }) => isOurs && problems.length > 0).length
if (!options.isJson) console.log(`${record.runs.length} runs, ${broken} with broken promises`)
process.exit(broken === 0 ? 0 : 1)

function writePage(path, toText) {
  const page = join(root, path)
  writeFileSync(page, toText(readFileSync(page, 'utf8'), record, given))
}
