// Runs the client and the session routes in real browsers: exit 1 if a promise is broken.
// npm run test:browsers [-- --only chromium|firefox] [-- --scenario <name>] [-- --quick] [-- --json]
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeRun, toPage } from './browsers/report.js'
import { importTypeScript, ROOT } from './import-typescript.js'

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

const isFull = !options.isQuick && process.argv.length === 2
if (isFull) {
  const page = join(ROOT, 'docs/browser-evidence.md')
  writeFileSync(join(ROOT, 'test/browser-evidence/results.json'), `${JSON.stringify(record, null, 2)}\n`)
  writeFileSync(page, toPage(readFileSync(page, 'utf8'), record))
}
const broken = record.runs.filter(({ problems }) => problems.length > 0).length
if (!options.isJson) console.log(`${record.runs.length} runs, ${broken} with broken promises`)
process.exit(broken === 0 ? 0 : 1)
