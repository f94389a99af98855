/** What the table of commands in CONTRIBUTING.md stands between. */
export const MARKERS = ['<!-- durations: node tools/suites/durations.js -->', '<!-- /durations -->']

const COLUMNS = ['command', 'proves', 'tests', 'took', 'where']
const TITLES = ['Command', 'What it proves', 'Tests', 'Took', 'On']

/**
 * The rows of the table.
 *
 * @param {string} text
 * @returns {{ rows: { command: string, proves: string, tests: string, took: string, where: string }[] }}
 */
export function readTable(text) {
  const [start, end] = MARKERS.map((marker) => text.indexOf(marker))
  if (start === -1 || end < start) throw new Error(`CONTRIBUTING.md has no ${MARKERS.join(' … ')}`)
  const lines = text
    .slice(start + MARKERS[0].length, end)
    .trim()
    .split('\n')
  const rows = lines.slice(2).map((line) => {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
    const row = Object.fromEntries(COLUMNS.map((column, at) => [column, cells[at] ?? '']))
    return { ...row, command: row.command.replaceAll('`', '') }
  })
  return { rows }
}

/** The table as oxfmt writes it. */
export function formatTable(rows) {
  const cells = rows.map((row) =>
    COLUMNS.map((column) => (column === 'command' ? `\`${row.command}\`` : row[column])),
  )
  const widths = TITLES.map((title, at) => Math.max(title.length, ...cells.map((line) => line[at].length)))
  const format = (line) => `| ${line.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`
  return [format(TITLES), format(widths.map((width) => '-'.repeat(width))), ...cells.map(format)].join('\n')
}
