/**
 * Rows of numbers with their names above, as text.
 *
 * @param {readonly Record<string, number>[]} rows
 */
export function describeRows(rows) {
  const names = Object.keys(rows[0])
  const table = [names, ...rows.map((row) => names.map((name) => row[name].toLocaleString('en-US')))]
  const widths = names.map((_, column) => Math.max(...table.map((row) => row[column].length)))
  return table
    .map((row) => `  ${row.map((cell, column) => cell.padStart(widths[column])).join('   ')}`)
    .join('\n')
}
