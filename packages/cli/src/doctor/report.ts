import { safe, safeLines, type SafeValue, type TextFormat } from '../safe-text.js'
import type { Terminal } from '../terminal.js'
import { countLevel, type Finding, type Level, sortFindings } from './findings.js'
import { toCount, toPrintable } from '../words.js'

/** The layout of the report. */
export interface ReportOptions {
  /** What was checked, one line each. */
  readonly subjects: readonly (readonly [name: string, text: string])[]
  /** In characters. */
  readonly width: number
  /** Whether to print everything, including reasons and what is fine. */
  readonly isVerbose: boolean
}

/** Writes the findings on one screen, most important first. */
export function writeReport(terminal: Terminal, findings: readonly Finding[], options: ReportOptions): void {
  const width = Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, options.width))
  const screen = { terminal, width, findings: sortFindings(findings) }
  const head = options.subjects.flatMap(([name, text]) =>
    wrap(name, text, width).map((line) => terminal.style('dim', line)),
  )
  const body = options.isVerbose
    ? screen.findings.flatMap((finding) => toLines(screen, finding, ['detail', 'fix']))
    : toScreen(screen, SCREEN_LINES - head.length - FOOT_LINES)
  const counts = (['error', 'warning', 'note'] as const).map((level) =>
    toCount(countLevel(findings, level), level),
  )
  const more = options.isVerbose ? '' : ' All reasons: npx tokenlib doctor --verbose'
  const foot = [`${counts.join(', ')}.${more}`, `Guide: ${DOCS}`].flatMap((text) => toRows(text, width))
  terminal.write(safeLines([...head, '', ...body, '', ...foot]))
}

const DOCS = 'https://github.com/tokenlib/tokenlib/blob/main/docs/command-line.md#doctor'
const [MIN_WIDTH, MAX_WIDTH] = [40, 100]
const [SCREEN_LINES, FOOT_LINES] = [40, 4]

interface Screen {
  readonly terminal: Terminal
  readonly width: number
  readonly findings: readonly Finding[]
}

// As much as fits: first the list of what is fine becomes a number, then notes lose what to do, then warnings.
function toScreen(screen: Screen, maxLines: number): SafeValue[] {
  const problems = screen.findings.filter(({ level }) => level !== 'ok')
  const write = (withoutFix: readonly Level[], isListed: boolean): SafeValue[] => [
    ...problems.flatMap((finding) =>
      toLines(screen, finding, withoutFix.includes(finding.level) ? [] : ['fix']),
    ),
    ...toFine(screen, isListed),
  ]
  const attempts = [write([], true), write([], false), write(['note'], false)]
  return attempts.find((lines) => lines.length <= maxLines) ?? write(['note', 'warning'], false)
}

function toFine({ terminal, width, findings }: Screen, isListed: boolean): SafeValue[] {
  const problems = new Set(findings.filter(({ level }) => level !== 'ok').map(({ id }) => id))
  const ids = [...new Set(findings.map(({ id }) => id))].filter((id) => !problems.has(id))
  if (ids.length === 0) return []
  const text = isListed ? ids.join(' ') : toCount(ids.length, 'other check')
  return colour(terminal, 'ok', wrap('ok', text, width))
}

function toLines(
  { terminal, width }: Screen,
  finding: Finding,
  parts: readonly ('detail' | 'fix')[],
): SafeValue[] {
  const { id, level, title, detail, fix } = finding
  const lines = colour(terminal, level, wrap(level, `${id}  ${title}`, width), id)
  if (parts.includes('detail') && detail !== '') lines.push(...wrap('', detail, width))
  if (parts.includes('fix') && fix !== '') {
    const [first = '', ...rest] = wrap('', fix, width, ARROW)
    const at = INDENT + ARROW.length
    lines.push(safe`${' '.repeat(INDENT)}${terminal.style('green', ARROW)}${first.slice(at)}`, ...rest)
  }
  return lines
}

const FORMATS: Readonly<Record<Level, TextFormat>> = {
  error: 'red',
  warning: 'yellow',
  note: 'bold',
  ok: 'green',
}

// The level and the id, after the width of the line was measured.
function colour(terminal: Terminal, level: Level, lines: readonly string[], id = ''): SafeValue[] {
  const [first = '', ...rest] = lines
  const name = safe`${terminal.style(FORMATS[level], level)}${' '.repeat(INDENT - level.length)}`
  const text = first.slice(INDENT)
  if (id === '' || !text.startsWith(id)) return [safe`${name}${text}`, ...rest]
  return [safe`${name}${terminal.style('bold', id)}${text.slice(id.length)}`, ...rest]
}

// One more than the longest level.
const INDENT = 8
const ARROW = '→ '

/** A text next to a name, escaped before it is measured. */
function wrap(name: string, text: string, width: number, bullet = ''): string[] {
  return toRows(toPrintable(text), width - INDENT - bullet.length).map((row, at) =>
    at === 0 ? name.padEnd(INDENT) + bullet + row : ' '.repeat(INDENT + bullet.length) + row,
  )
}

// Broken between words; only a word that is longer than the row goes over it.
function toRows(text: string, width: number): string[] {
  const rows: string[] = []
  let row = ''
  for (const word of text.split(' ')) {
    if (row !== '' && row.length + 1 + word.length > width) {
      rows.push(row)
      row = word
    } else {
      row = row === '' ? word : `${row} ${word}`
    }
  }
  return [...rows, row]
}
