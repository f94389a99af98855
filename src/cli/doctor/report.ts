import type { Terminal, TextFormat } from '../terminal.js'
import { countLevel, type Finding, type Level, sortFindings } from './findings.js'
import { toCountText } from './texts.js'

/** How the screen is written. */
export interface ReportOptions {
  /** What was looked at, one line each. */
  readonly subjects: readonly (readonly [name: string, text: string])[]
  /** In characters. */
  readonly width: number
  /** Whether details and everything that is fine are written too. */
  readonly isVerbose: boolean
}

const FORMATS: Readonly<Record<Level, TextFormat>> = {
  error: 'red',
  warning: 'yellow',
  note: 'bold',
  ok: 'green',
}

// As wide as the longest level.
const INDENT = 9

/** Writes the findings on one screen, what matters most first. */
export function writeReport(terminal: Terminal, findings: readonly Finding[], options: ReportOptions): void {
  const { subjects, isVerbose } = options
  const width = Math.max(MIN_WIDTH, Math.min(MAX_WIDTH, options.width))
  const sorted = sortFindings(findings)
  const problems = sorted.filter(({ level }) => level !== 'ok')
  const fine = sorted.filter(({ level }) => level === 'ok')
  const lines = [
    ...subjects.flatMap(([name, text]) => hang(name, text, width).map((line) => terminal.style('dim', line))),
    '',
    ...problems.flatMap((finding) => toLines(terminal, finding, width, isVerbose)),
  ]
  if (fine.length > 0 && isVerbose) {
    lines.push(...fine.flatMap((finding) => toLines(terminal, finding, width, true)))
  } else if (fine.length > 0) {
    const ids = [...new Set(fine.map(({ id }) => id))].filter((id) => !problems.some((one) => one.id === id))
    lines.push(...mark(terminal, 'ok', hang('ok', ids.join(' '), width)))
  }
  const summary = (['error', 'warning', 'note'] as const).map((level) =>
    toCountText(countLevel(findings, level), level),
  )
  lines.push('', `${summary.join(', ')}. What each means: ${DOCS}`)
  if (problems.length > 0 && !isVerbose) lines.push('Reasons and everything that is fine: --verbose')
  terminal.write(`${lines.join('\n')}\n`)
}

const DOCS = 'https://github.com/tokenlib/tokenlib/blob/main/docs/doctor.md'
const [MIN_WIDTH, MAX_WIDTH] = [40, 100]

function toLines(terminal: Terminal, finding: Finding, width: number, isVerbose: boolean): string[] {
  const { id, level, title, detail, fix } = finding
  const lines = mark(terminal, level, hang(level, `${id}: ${title}`, width), id)
  if (isVerbose && detail !== '') lines.push(...hang('', detail, width))
  if (fix !== '') lines.push(...hang('', `→ ${fix}`, width).map((line) => terminal.style('dim', line)))
  return lines
}

// Colours the level and the id of the first line, after its width was measured.
function mark(terminal: Terminal, level: Level, [first = '', ...rest]: readonly string[], id = ''): string[] {
  const name = terminal.style(FORMATS[level], level)
  const text = first.slice(INDENT)
  const named = id !== '' && text.startsWith(id) ? terminal.style('bold', id) + text.slice(id.length) : text
  return [`${name}${' '.repeat(INDENT - level.length)}${named}`, ...rest]
}

/** A text beside a name, wrapped at words; only a word that is longer than the line goes over it. */
function hang(name: string, text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && INDENT + line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  lines.push(line)
  return lines.map((content, at) => (at === 0 ? name : '').padEnd(INDENT) + content)
}
