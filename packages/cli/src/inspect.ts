import { decodeUnverified, type UnverifiedToken } from './decode-unverified.js'
import { type Command, writeJson, readTokenArgument } from './command.js'
import { EXIT } from './exit.js'
import { listFindings, type Finding } from './inspect-findings.js'
import { type InspectRules, readInspectRules } from './configuration.js'
import { safe, safeLines, type SafeText } from './safe-text.js'
import type { Terminal } from './terminal.js'
import { systemClock } from 'tokenlib/kit'
import { toIsoTime, toPrintable, toRelative } from './words.js'

/** Shows what is in a token. */
export const inspect: Command = {
  name: 'inspect',
  summary: 'show what is in a token, and what a verifier would object to; verifies nothing',
  usage: 'inspect <token|-> [options]',
  options: {},
  details: safe`
The token is an argument or, better, on stdin (-): arguments are visible to other users of the machine, and are kept in
the history of the shell. The signature and the CSRF value are not printed. With JWT_ variables in the environment, the
token is compared with that configuration. The exit code is 0 for whatever can be read, and 1 for what is no token.

  pbpaste | npx tokenlib inspect -`,
  async run(call) {
    const { values, env, terminal } = call
    const token = decodeUnverified(await readTokenArgument(call))
    const rules = readInspectRules(env)
    const now = systemClock()
    const findings = listFindings(token, rules, now)
    if (values['json'] === true) writeJson(terminal, toDocument(token, rules, findings, now))
    else write(terminal, token, rules, findings, now)
    return EXIT.ok
  },
}

const TIMES = [
  ['iat', 'issued', 'issued'],
  ['nbf', 'became valid', 'becomes valid'],
  ['exp', 'expired', 'expires'],
] as const

interface ClaimedTime {
  readonly claim: string
  readonly words: string
  readonly at: string
}

function listTimes({ claims }: UnverifiedToken, now: number): ClaimedTime[] {
  return TIMES.flatMap(([claim, past, future]) => {
    const seconds = claims[claim]
    if (typeof seconds !== 'number') return []
    const verb = seconds * 1000 <= now ? past : future
    return [{ claim, words: `${verb} ${toRelative(seconds * 1000, now)}`, at: toIsoTime(seconds * 1000) }]
  })
}

function toDocument(
  token: UnverifiedToken,
  rules: InspectRules,
  findings: readonly Finding[],
  now: number,
): object {
  const { header, claims, length } = token
  return {
    verified: false,
    header,
    claims,
    times: listTimes(token, now),
    length,
    maxLength: rules.maxLength,
    configuration: rules.state,
    objections: findings.filter(({ isObjection }) => isObjection).map(toFact),
    remarks: findings.filter(({ isObjection }) => !isObjection).map(toFact),
  }
}

function toFact({ rule, message }: Finding): object {
  return { rule, message }
}

function write(
  terminal: Terminal,
  token: UnverifiedToken,
  rules: InspectRules,
  findings: readonly Finding[],
  now: number,
): void {
  const heading = (text: string): SafeText => terminal.style('bold', text)
  const times = listTimes(token, now)
  const timeRows = times.map(({ claim, words, at }): [string, string] => [claim, `${words} (${at})`])
  terminal.write(safe`${terminal.style('yellow', 'Not verified.')} Anybody can write such a token.

${heading('Header')}
${toRows(toJsonRows(token.header))}
${heading('Claims')}
${toRows(toJsonRows(token.claims))}
${heading('Times')}
${toRows(timeRows.length === 0 ? [['none', '']] : timeRows)}
${heading('Size')}
  ${token.length} of at most ${rules.maxLength} characters

${heading('A verifier would object to')}
${listMessages(terminal, 'red', findings, true) ?? safe`  nothing that can be seen without the key\n`}
`)
  const remarks = listMessages(terminal, 'yellow', findings, false)
  if (remarks !== null) terminal.write(safe`${heading('Remarks')}\n${remarks}\n`)
  terminal.write(safe`${terminal.style('dim', CONFIGURATION[rules.state])}\n`)
  if (rules.problem !== null) terminal.warn(safe`${terminal.style('yellow', 'warning')}: ${rules.problem}\n`)
}

const CONFIGURATION: Readonly<Record<InspectRules['state'], string>> = {
  none: 'No JWT_ variable is set: not compared with a configuration.',
  used: 'Compared with the configuration of the environment.',
  'without keys': 'Compared with the configuration of the environment, which has no key.',
  invalid: 'Not compared with the configuration of the environment, which is invalid.',
}

function toJsonRows(members: Readonly<Record<string, unknown>>): [string, string][] {
  const rows = Object.entries(members).map(([name, value]): [string, string] => [
    toPrintable(name),
    JSON.stringify(value),
  ])
  return rows.length === 0 ? [['none', '']] : rows
}

function toRows(rows: readonly (readonly [string, string])[]): SafeText {
  const width = Math.min(24, Math.max(...rows.map(([name]) => name.length)))
  return safeLines(rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`.trimEnd()))
}

function listMessages(
  terminal: Terminal,
  format: 'red' | 'yellow',
  findings: readonly Finding[],
  isObjection: boolean,
): SafeText | null {
  const lines = findings
    .filter((finding) => finding.isObjection === isObjection)
    .map(({ message }) => safe`  ${terminal.style(format, '-')} ${message}`)
  return lines.length === 0 ? null : safeLines(lines)
}
