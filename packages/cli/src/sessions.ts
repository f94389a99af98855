import type { SessionInfo } from 'tokenlib'
import { systemClock } from 'tokenlib/kit'
import {
  assertArguments,
  type Command,
  type CommandCall,
  parseNumber,
  readText,
  STORE_OPTIONS,
  writeJson,
} from './command.js'
import { withManager } from './connect.js'
import { EXIT } from './exit.js'
import { safe, safeLines } from './safe-text.js'
import { toCount, toIsoTime, toPrintable, toRelative } from './words.js'

/** Lists the sessions of a user. */
export const sessions: Command = {
  name: 'sessions',
  summary: 'list the live sessions of a user, newest first',
  usage: 'sessions <user> [--limit 50] [--before <id>] [options]',
  options: {
    limit: { type: 'string', value: 'number', default: '50', description: 'sessions on a page, 1 to 1000' },
    before: { type: 'string', value: 'id', description: 'the last session of the page before' },
    ...STORE_OPTIONS,
  },
  details: safe`
The user is the uid that the application gives to sessions.open, which is the sub of the tokens. No key is needed.`,
  async run(call) {
    assertArguments(call, ['user'])
    const [user = ''] = call.positionals
    const limit = parseNumber(call, 'limit', 1, 1000)
    const before = readText(call, 'before')
    return withManager(call, async ({ opened, tokens }) => {
      const page = await tokens.sessions.list(user, { limit, ...(before !== null && { before }) })
      // A page that is shorter than its limit is the last one.
      const next = page.length < limit ? null : (page.at(-1)?.id ?? null)
      if (call.values['json'] === true) {
        writeJson(call.terminal, { user, store: opened.url, sessions: page, next })
        return EXIT.ok
      }
      writeTable(call, user, page)
      if (next !== null) call.terminal.write(safe`\nThere may be more: --before ${next}\n`)
      return EXIT.ok
    })
  },
}

const HEADINGS = ['session', 'started', 'last used', 'expires', 'address', 'device'] as const

function writeTable({ terminal }: CommandCall, user: string, page: readonly SessionInfo[]): void {
  if (page.length === 0) {
    terminal.write(safe`No live session of ${user}\n`)
    return
  }
  const now = systemClock()
  // Escaped before they are measured.
  const rows = page.map(({ id, createdAt, lastUsedAt, expiresAt, ip, userAgent, data }) => [
    toPrintable(id),
    toIsoTime(createdAt.getTime()),
    toRelative(lastUsedAt.getTime(), now),
    expiresAt === null ? 'never' : toRelative(expiresAt.getTime(), now),
    toPrintable(ip ?? '-'),
    toPrintable(data?.label ?? userAgent ?? '-'),
  ])
  const widths = HEADINGS.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => row[at]?.length ?? 0)),
  )
  const toLine = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  terminal.write(safeLines([terminal.style('bold', toLine(HEADINGS)), ...rows.map(toLine)]))
  terminal.write(safe`\n${toCount(page.length, 'session')} of ${user}\n`)
}
