/** Runs a tool. It may return an exit code; an error is printed without its stack, and ends with `errorCode`. */
export async function runTool(tool, errorCode = 1) {
  try {
    process.exitCode = (await tool()) ?? 0
  } catch (error) {
    console.error(error.message)
    process.exitCode = errorCode
  }
}

/** Fails a check with its problems, one per line, if there are any. */
export function assertNone(problems) {
  if (problems.length === 0) return
  throw new Error(
    `${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}\n${problems.join('\n')}`,
  )
}

/** A table in Markdown, aligned as oxfmt does it. */
export function toTable(head, rows) {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(3, ...all.map((row) => row[at].length)))
  const toLine = (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`
  return [
    toLine(head),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(toLine),
  ].join('\n')
}

/** A page with another text between two of its lines. */
export function replacePart(page, startLine, endLine, text) {
  const [start, end] = [page.indexOf(startLine), page.indexOf(endLine)]
  if (start === -1 || end < start) throw new Error(`The page needs the lines ${startLine} and ${endLine}`)
  return `${page.slice(0, start)}${startLine}\n\n${text}\n\n${page.slice(end)}`
}
