import type { Finding } from '../../../packages/cli/src/doctor/findings.js'
import { type ReportOptions, writeReport } from '../../../packages/cli/src/doctor/report.js'
import { safe } from '../../../packages/cli/src/safe-text.js'

/** The lines of a report, as they are on a terminal without colours. */
export function printReport(findings: readonly Finding[], options: Partial<ReportOptions> = {}): string[] {
  let output = ''
  writeReport(
    {
      isInteractive: false,
      write: (text) => void (output += text.toString()),
      warn: () => undefined,
      style: (_format, text) => safe`${text}`,
      readInput: async () => '',
      confirm: async () => false,
    },
    findings,
    { subjects: [['node', '24.0.0']], width: 80, isVerbose: false, ...options },
  )
  return output.trimEnd().split('\n')
}
