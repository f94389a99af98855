// Writes the API reports in the folder api; with --check, fails if they are not what the built package exports.
// npm run api [-- --check]
import { parseArgs } from 'node:util'
import { assertRecorded, compareReports, readReports, toLines, writeReports } from './compare.js'
import { runTool } from '../shared/report.js'
import { extractReports } from './extract.js'

await runTool(() => {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
  const reports = extractReports()
  if (values.check) {
    assertRecorded(reports)
    console.log(`${reports.size} API reports are up to date`)
  } else {
    const lines = toLines(compareReports(readReports(), reports))
    writeReports(reports)
    console.log(`${reports.size} API reports written to api, ${lines.length} lines of differences`)
    if (lines.length <= 40) for (const line of lines) console.log(line)
  }
})
