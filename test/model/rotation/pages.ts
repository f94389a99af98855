import type { LimitGroup } from './limits.js'
import type { Property } from './properties.js'
import type { Finding, Scenario, Violation } from './search.js'
import type { Bounds } from './world.js'

/** A scenario, and what the search found. */
export interface Result {
  readonly scenario: Scenario
  readonly finding: Finding
}

/** A variant, and the scenarios that catch it. */
export interface Catch {
  readonly variant: string
  readonly caughtBy: readonly string[]
}

const WRITTEN_BY =
  '<!-- Written by ROTATION_CATCHES=all npx vitest run test/model/rotation.long.test.ts -u -->'

/** What is not promised, for readers of the documentation. */
export function toLimitsPage(groups: readonly LimitGroup[], find: (scenario: Scenario) => Violation): string {
  const parts = [
    '# Where rotation ends',
    WRITTEN_BY,
    'The rule of rotation is [searched exhaustively](../README.md#a-model-of-rotation) in small worlds. This page lists what the rule does _not_ promise. Each entry has its shortest history, as the search found it.',
    'The jar is the cookie storage of a browser, which all of its tabs share. R1, R2 and so on are refresh tokens, in the order in which they are issued. After each token that the server gets is the outcome of the rule: `repeat` and `advance` issue a child, `keep` issues an access token only, `superseded` issues nothing, and `reuse` ends the session. A token is dead if it cannot yield anything any more. Times are ticks since the login: with a grace of 4 ticks and `JWT_REFRESH_GRACE` at 60 seconds, a tick is 15 seconds.',
    'Two things need no search. A thief who uses a token once and never again may go unnoticed. A thief whose victim never comes back keeps the session until it ends.',
  ]
  for (const { title, limits } of groups) {
    parts.push(`## ${title}`)
    for (const limit of limits) {
      const { history, reason } = find(limit)
      const lines = history.map(({ at, text }) => `${String(at).padStart(3)}  ${text}`)
      parts.push(
        `### ${limit.name}`,
        limit.advice,
        `In this world: ${describeBounds(limit.bounds)}.`,
        ['```text', ...lines, `  =  ${reason}`, '```'].join('\n'),
      )
    }
  }
  return `${parts.join('\n\n')}\n`
}

/** What was searched, and which variants were caught. */
export function toCheckedPage(results: readonly Result[], catches: readonly Catch[]): string {
  const rows = results.map(({ scenario: { name, bounds, properties }, finding: { worlds, steps } }) => [
    name,
    describeBounds(bounds),
    properties.map(describeProperty).join(', '),
    worlds.size.toLocaleString('en'),
    steps.toLocaleString('en'),
  ])
  const parts = [
    '# Rotation, as it was checked',
    WRITTEN_BY,
    'Every scenario holds in all of its histories. [The model](../README.md#a-model-of-rotation) explains the properties. Times are in ticks.',
    toTable(['Scenario', 'World', 'Properties', 'Worlds', 'Steps'], rows),
    '## Variants',
    'Each variant has one mistake. These scenarios catch it:',
    toTable(
      ['The variant', 'is caught by'],
      catches.map(({ variant, caughtBy }) => [variant, caughtBy.join('; ')]),
    ),
  ]
  return `${parts.join('\n\n')}\n`
}

/** The table of variants on a page that `toCheckedPage` wrote. */
export function readCatches(page: string): readonly Catch[] {
  const [, table = ''] = page.split('is caught by')
  return [...table.matchAll(/^\| ([a-z][^|]+?) +\| ([^|]+?) +\|$/gm)].map(
    ([, variant = '', scenarios = '']) => ({
      variant,
      caughtBy: scenarios.split('; '),
    }),
  )
}

function describeProperty({ name, bound }: Property): string {
  return bound === undefined ? `\`${name}\`` : `\`${name}\` (${bound})`
}

function describeBounds(bounds: Bounds): string {
  const { tabs, requestDelay, answerDelay, orphanDelay, duplicates, lostWrites, clockChanges, flushDelay } =
    bounds
  const facts: readonly (string | false)[] = [
    tabs === 1 ? 'one tab' : `${tabs} tabs`,
    bounds.isEager ? 'refresh at any time' : `access lifetime ${bounds.accessLifetime}, refresh at expiry`,
    `grace ${bounds.grace}`,
    bounds.idle !== null && `idle limit ${bounds.idle}`,
    requestDelay > 0 && `requests take up to ${describeDelay(requestDelay)}`,
    answerDelay > 0 && `answers take up to ${describeDelay(answerDelay)}`,
    orphanDelay !== null && `requests that were given up take up to ${describeDelay(orphanDelay)}`,
    bounds.losesMessages && 'messages are lost',
    duplicates > 0 && `requests that arrive twice: ${duplicates}`,
    lostWrites > 0 && `writes that the store loses: ${lostWrites}`,
    clockChanges.length > 0 && `the store's clock is set by ${clockChanges.join(' or ')}`,
    flushDelay === Infinity && 'cookies may never reach the disk',
    flushDelay !== null && flushDelay !== Infinity && `cookies are on disk after ${flushDelay}`,
    bounds.dropsCookies && 'the browser drops its cookies',
    bounds.thief !== null && `a thief copies ${STOLEN[bounds.thief]}`,
  ]
  return facts.filter((fact) => fact !== false).join(', ')
}

const STOLEN = {
  jar: 'the jar',
  answer: 'an answer under way',
  exchanged: 'a token that the jar had before',
  dead: 'a dead token that the jar had before',
}

function describeDelay(delay: number): string {
  return delay === Infinity ? 'any time' : String(delay)
}

// As oxfmt aligns it.
function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => (row[at] ?? '').length)))
  const toLine = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const line = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [toLine(head), line, ...rows.map(toLine)].join('\n')
}
