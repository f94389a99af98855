import { assertRecorded } from '../api/compare.js'
import { extractReports } from '../api/extract.js'

/** The API reports in the repository are what the built package exports. */
export function checkApi() {
  const reports = extractReports()
  assertRecorded(reports)
  return `${reports.size} reports`
}
