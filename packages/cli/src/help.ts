import { COMMON_OPTIONS, type Command, type CommandOptions } from './command.js'
import { safe, safeLines, type SafeText } from './safe-text.js'
import type { Terminal } from './terminal.js'

const EXIT_CODES = safe`  0    fine
  1    the check failed: the token was rejected, something must be fixed, or the confirmation was declined
  2    wrong usage or configuration
  3    the store or the network is unavailable
  130  interrupted with Ctrl-C
`

/** The help of the command line. */
export function helpOfAll(commands: readonly Command[], terminal: Terminal): SafeText {
  const width = Math.max(...commands.map(({ name }) => name.length))
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)
  return safe`${terminal.style('bold', 'tokenlib')} <command> [options]

${terminal.style('bold', 'Commands')}
${safeLines(lines)}
${terminal.style('bold', 'Options of every command')}
${listOptions(COMMON_OPTIONS)}
${terminal.style('bold', 'Exit codes')}
${EXIT_CODES}
tokenlib help <command> says more. https://github.com/tokenlib/tokenlib/blob/main/docs/command-line.md
`
}

/** The help of one command. */
export function helpOf({ summary, usage, options, details }: Command, terminal: Terminal): SafeText {
  const more = details === undefined ? '' : safe`${details}\n`
  return safe`${terminal.style('bold', `tokenlib ${usage}`)}

${summary[0]?.toUpperCase() ?? ''}${summary.slice(1)}.
${more}
${terminal.style('bold', 'Options')}
${listOptions({ ...options, ...COMMON_OPTIONS })}
${terminal.style('bold', 'Exit codes')}
${EXIT_CODES}`
}

function listOptions(options: CommandOptions): SafeText {
  const rows = Object.entries(options).map(([name, { short, value, description, default: standard }]) => ({
    left: `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` <${value}>`}`,
    right: typeof standard === 'string' ? `${description} (${standard})` : description,
  }))
  const width = Math.max(...rows.map(({ left }) => left.length))
  return safeLines(rows.map(({ left, right }) => `  ${left.padEnd(width)}  ${right}`))
}
