import {
  FOREVER,
  type LookupAnswer,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
} from '../../revocation/revocation.js'
import { MAX_ENDED_AT_ONCE } from '../../revocation/session-store.js'
import type { FeedPage, Position } from '../../revocation/store.js'
import { toPage, toResetPage } from '../store-parts.js'
import { createScript, type Reply, type Script } from './client.js'
import { BEGIN } from './lua.js'
import type { Namespace } from './namespace.js'

const LETTERS: Readonly<Record<RevocationKind, string>> = {
  token: 't',
  session: 's',
  user: 'u',
  key: 'k',
  all: 'a',
}

const KINDS = new Map(Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as RevocationKind]))

/** A revocation key, as stored in Redis. */
export function toMember({ kind, id }: RevocationKey): string {
  return `${LETTERS[kind]}:${id}`
}

// The member that starts at a place of a text.
function fromMember(text: string, at: number): RevocationKey {
  return { kind: KINDS.get(text.charAt(at)) ?? 'token', id: text.slice(at + 2) }
}

// The lookups that one script answers.
interface Batch {
  readonly names: string[]
  /** The indexes of names that nearly all tokens have in common. */
  readonly common: Map<string, number>
  /** By index; keys that do not exist are left out. */
  readonly values: Promise<ReadonlyMap<number, string>>
}

/** The most keys of one script: the server does nothing else while a script runs. */
const MAX_KEYS = 500

/** Answers about revocation keys; lookups of one turn of the event loop share a script. */
export function createLookup(
  namespace: Namespace,
): (keys: readonly RevocationKey[]) => Promise<LookupAnswer> {
  const prefix = namespace.key('r:')
  let batch: Batch | null = null

  const createBatch = (): Batch => {
    const names: string[] = []
    const values = new Promise<ReadonlyMap<number, string>>((resolve) => {
      // Once the requests that arrived together are read.
      setImmediate(() => {
        if (batch?.names === names) batch = null
        resolve(namespace.read(names))
      })
    })
    return { names, common: new Map(), values }
  }

  // Returns the index of its name.
  const addKey = ({ names, common }: Batch, key: RevocationKey): number => {
    const name = prefix + toMember(key)
    if (key.kind !== 'all' && key.kind !== 'key') return names.push(name) - 1
    const index = common.get(name) ?? names.push(name) - 1
    common.set(name, index)
    return index
  }

  const lookup = async (keys: readonly RevocationKey[]): Promise<LookupAnswer> => {
    if (keys.length > MAX_KEYS) {
      const parts = [keys.slice(0, MAX_KEYS), keys.slice(MAX_KEYS)]
      return (await Promise.all(parts.map(lookup))).flat()
    }
    const joined = batch !== null && batch.names.length + keys.length <= MAX_KEYS ? batch : createBatch()
    batch = joined
    const indexes = keys.map((key) => addKey(joined, key))
    const values = await joined.values
    return indexes.map((index) => {
      const value = values.get(index)
      return value === undefined ? undefined : readNotBefore(value)
    })
  }

  return lookup
}

const PAGE_SIZE = 3000
// Code that runs for the first time is not compiled, and would hold up the event loop.
const FIRST_PAGE_SIZE = 500

/** One page of the history of a namespace. */
export async function readFeed(namespace: Namespace, after: Position | null): Promise<FeedPage> {
  const from = after === null ? ['', '', '', ''] : readPosition(after)
  const size = after === null ? FIRST_PAGE_SIZE : PAGE_SIZE
  const reply = await namespace.run(FEED, ['log', 'past', 'marks'], [String(size), ...from])
  const [outcome, rows] = reply.slice(4)
  if (outcome === 'reset') return toResetPage(toPosition(reply))
  const page = toPage([], toPosition(reply), outcome === 'more')
  if (rows === undefined) return page
  return {
    ...page,
    // Parsed on access, because a reader that requests the next page first parses while the server prepares it. Not kept:
    // the garbage collector would carry a thousand entries along with every page that it has not found dead yet.
    get entries() {
      return (JSON.parse(String(rows)) as string[]).map(readRow)
    },
  }
}

// 'until member' or 'until:notBefore member', as `toRow` in the scripts writes it. Numbers that we did not write are NaN,
// which revokes for ever.
function readRow(row: string): Revocation {
  // Nearly all rows have no `notBefore`.
  const space = row.charCodeAt(UNTIL_DIGITS) === SPACE ? UNTIL_DIGITS : row.indexOf(' ')
  const { kind, id } = fromMember(row, space + 1)
  const notBefore =
    space === UNTIL_DIGITS ? FOREVER : Number(row.slice(UNTIL_DIGITS + 1, space) || Number.NaN)
  return { kind, id, notBefore, until: Number(row.slice(0, UNTIL_DIGITS)) }
}

const UNTIL_DIGITS = 16
const SPACE = 0x20

/** The position that a script answers: a history, its count of batches, the nonce of the last, and its count of changes. */
export function toPosition(reply: readonly Reply[]): Position {
  return reply.slice(0, 4).join('|')
}

// As the scripts write them.
function readNotBefore(value: string): number {
  const colon = value.indexOf(':')
  return colon === -1 ? FOREVER : Number(value.slice(0, colon))
}

const POSITION = /^([\w-]+)\|(\d{1,16})\|([\w-]*)\|(\d{1,16})$/

// A text that is not a position of this store counts as one of a lost history.
function readPosition(position: Position): string[] {
  return POSITION.exec(position)?.slice(1) ?? ['-', '0', '-', '0']
}

/**
 * ARGV: the epoch, the time, the size of a page; then the epoch, the count of batches, the nonce and the count of
 * changes of a position, or four times '' for the start.
 *
 * A position proves by its nonce that it was made by this history, and not by one that a failover threw away.
 *
 * Returns the position and 'more', 'end' or 'reset', then the rows as one JSON text, if there are any: clients would need
 * ten times as long to read a list.
 */
const FEED: Script = createScript(
  BEGIN,
  `
local refused = refusal()
if refused then return refused end
if not isWhole() then return false end
local after, size = ARGV[7], tonumber(ARGV[3])
if ARGV[4] == '' then
  after = '0'
else
  local behind = batches - tonumber(ARGV[5])
  local proof = nonce
  if ARGV[5] == '0' then proof = '' elseif behind ~= 0 then proof = redis.call('LINDEX', past, -1 - behind) end
  if ARGV[4] ~= epoch or behind < 0 or proof ~= ARGV[6] then
    return { epoch, text(batches), nonce, '0', 'reset' }
  end
end
local rows = redis.call('ZRANGEBYSCORE', log, '(' .. after, '+inf', 'LIMIT', 0, size + 1)
local page = answer(#rows > size and 'more' or 'end')
if #rows > size then
  rows[size + 1] = nil
  page[4] = redis.call('ZSCORE', log, rows[size])
end
local gone = obsolete(rows)
if #gone > 0 then
  local isGone, left = {}, {}
  for _, row in ipairs(gone) do isGone[row] = true end
  for _, row in ipairs(rows) do
    if not isGone[row] then left[#left + 1] = row end
  end
  rows = left
end
if #rows > 0 then page[6] = cjson.encode(rows) end
return page
`,
)

/** How many entries one script looks at while it drops what has ended. */
const PRUNE_STEPS = 1000

/** Drops what has ended, at most so many; returns how many went. */
export async function prune(namespace: Namespace, limit: number): Promise<number> {
  let dropped = 0
  let after = '0'
  do {
    const args = [after, PRUNE_STEPS, limit - dropped].map(String)
    const [gone, next] = await namespace.run(PRUNE, ['log', 'marks'], args)
    dropped += Number(gone)
    after = String(next)
  } while (after !== '0' && dropped < limit)
  return dropped
}

/** ARGV: the epoch, the time, the change to go on from, how many entries to look at, how many to drop. */
const PRUNE: Script = createScript(
  BEGIN,
  `
local gone, dropped, after = sweep(ARGV[3], tonumber(ARGV[4]), 'all')
for at = tonumber(ARGV[5]) + 1, #gone do gone[at] = nil end
callInParts('ZREM', log, gone)
callInParts('ZREM', marks, dropped)
return { text(#gone), after }
`,
)

/** Continues what REVOKE has left to do: three texts for each user. Returns the last reply, or `null`. */
export async function revokeLate(
  { write }: Namespace,
  left: readonly Reply[],
): Promise<readonly Reply[] | null> {
  let last: readonly Reply[] | null = null
  for (let at = 0; at < left.length; at += 3) {
    const place = left.slice(at, at + 3).map(String)
    do last = await write(LATE, [`u:${place[0]}`], place)
    while (last[4] === 'more')
  }
  return last
}

/**
 * Revokes sessions of a user that started later than a watermark reaches, because the clock was far ahead. There may be
 * thousands, and the server does nothing else while a script runs, so each does a few.
 *
 * ARGV: the epoch, the time, a nonce, the user, the start to go on after, the last start.
 * Answers with the position, and 'more' or 'end'.
 */
const LATE: Script = createScript(
  BEGIN,
  `
local list = base .. 'u:' .. ARGV[4]
local sids = redis.call('ZRANGEBYSCORE', list, '(' .. ARGV[5], ARGV[6], 'LIMIT', 0, ${MAX_ENDED_AT_ONCE})
local entries, users = revocable(sids, function() return true end)
local refused = write(entries, ARGV[3], users)
if refused then return refused end
-- Those whose rows have ended are still in the list.
callInParts('ZREM', list, sids)
return answer(#sids == ${MAX_ENDED_AT_ONCE} and 'more' or 'end')
`,
)
