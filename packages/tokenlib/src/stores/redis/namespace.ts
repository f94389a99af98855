import { createNonce, systemRandom } from '../../tokens/ids.js'
import { ConfigurationError } from '../../errors.js'
import { assertKnownLayout } from '../store-parts.js'
import type { LossReporter } from '../loss-reporter.js'
import { type Clock, createCheckedClock } from '../../time.js'
import { createScript, type Reply, type Run, runScript, type Script, type Send } from './client.js'
import { BEGIN, REFUSAL } from './lua.js'
import { LAYOUT_VERSION, PREPARE } from './revocation-scripts.js'

/** The keys of one store, and the history that they belong to. */
export interface Namespace {
  /** The name of a key; all of them are in one slot of a cluster. */
  readonly key: (name: string) => string
  /** Remembers how far the history goes, by the answer of a script that wrote to it. */
  recordProgress(reply: readonly Reply[]): void
  /** Makes the namespace ready; revokes everything from before when its data was lost, and reports that. */
  prepare(longestLifetime: number): Promise<void>
  /** Runs a script with the epoch and the time before its other arguments. */
  readonly run: Run
  /** The values of those keys that exist, by index: as the primary has them, in the history that this process knows. */
  read(keys: readonly string[]): Promise<ReadonlyMap<number, string>>
}

interface Seen {
  readonly epoch: string
  readonly batches: number
  /** Of the last batch; empty before the first. */
  readonly nonce: string
}

/** Give up if the data is lost again between a script and its repeat. */
const ATTEMPTS = 3

/** The keys below a name, by the server's clock unless another is given. */
export function createNamespace(
  send: Send,
  name: string,
  { clock, losses }: { readonly clock: Clock | undefined; readonly losses: LossReporter },
): Namespace {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name)) {
    throw new ConfigurationError(
      'The namespace of a Redis store is 1 to 64 of the characters A-Z a-z 0-9 . _ -',
    )
  }
  const readClock = clock && createCheckedClock(clock)
  const time = (): string => (readClock === undefined ? '' : String(Math.floor(readClock())))
  const key = (part: string): string => `{tokenlib:${name}}:${part}`
  const meta = key('meta')
  const [epochKey, countKey] = [key('epoch'), key('count')]
  // All of them, so that a cluster which moves the slot refuses: half of the data must not pass for a loss of data.
  const keys = [meta, ...['epoch', 'count', 'log', 'past', 'marks', 'r:a:'].map(key)]
  // How far this process has seen a history: its random name, its count of batches, and the nonce of the last one. A
  // history that has another batch there is not the one that was seen, however long it is by now.
  let seen: Seen = { epoch: '', batches: 0, nonce: '' }
  // Not the one of the store, whose walks may wait for `prepare`.
  const sweep = createSweep()
  let longest = 0
  let preparing: Promise<void> | null = null
  // The history that a loss was reported with: several calls may find the same loss.
  let reported = ''
  // The moment of a loss that was found, and is not reported yet.
  let unreported = ''

  // A script without the retries after a loss; the next call finds what is lost now.
  const runOnce = async (from: Seen, script: Script, names: readonly string[], args: readonly string[]) => {
    const reply = await runScript(send, script, [meta, ...names.map(key)], [toProof(from), time(), ...args])
    return isList(reply) ? reply : null
  }

  const prepare = async (): Promise<void> => {
    let progress: Reply | undefined
    do {
      const { epoch, batches, nonce } = seen
      const isRestored = losses.canRestore() ? '1' : '0'
      const random = createNonce(systemRandom)
      const args = [epoch, time(), String(longest), random, meta, String(batches), nonce, isRestored]
      const reply = (await runScript(send, PREPARE, keys, args).catch(rethrow)) as readonly Reply[]
      const [revokedBefore, late] = reply.slice(4).map(String)
      progress = reply[3]
      unreported = revokedBefore || unreported
      let found = toSeen(reply)
      if (late) {
        const run = async (script: Script, names: readonly string[], rest: readonly string[]) => {
          const answer = await runOnce(found, script, names, rest)
          if (answer === null) throw new Error('The data of the Redis store was removed again')
          return answer
        }
        found = toSeen(await sweep(run, found.epoch, late))
      }
      // Not before: where revoking was cut short, the next call has to find the loss again.
      recordProgress(found, true)
      if (unreported && reported !== found.epoch) {
        reported = found.epoch
        losses.report(Number(unreported))
      }
      unreported = ''
    } while (progress === 'more')
  }

  const prepareOnce = (): Promise<void> => (preparing ??= prepare().finally(() => (preparing = null)))

  const recordProgress = (found: Seen, isVerified: boolean): void => {
    const isOther = found.epoch !== seen.epoch
    if (isOther ? !isVerified : found.batches <= seen.batches) return
    const isFirst = seen.epoch === ''
    seen = found
    if (isOther && !isFirst) losses.reportHistory()
  }

  const retry = async <Answer>(run: () => Promise<Answer | null>): Promise<Answer> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const reply = await run()
      if (reply !== null) return reply
      await prepareOnce()
    }
    throw new Error('The data of the Redis store was removed again and again')
  }

  return {
    key,
    recordProgress: (reply) => recordProgress(toSeen(reply), false),
    async prepare(longestLifetime) {
      longest = Math.max(longest, longestLifetime)
      await prepare()
    },
    run: (script, names, args) => retry(() => runOnce(seen, script, names, args)),
    read: (names) =>
      retry(async () => {
        const { epoch, batches, nonce } = seen
        const reply = await runScript(
          send,
          READ,
          [epochKey, countKey, ...names],
          [`${epoch}|${batches}:${nonce}`],
        )
        if (reply === NOTHING_FOUND) return NO_VALUES
        // Not an answer of the script: inside a transaction, for example, a server answers everything with QUEUED.
        if (!isList(reply)) return null
        const [history, ...found] = reply
        if (history !== '') {
          const [foundEpoch, length] = String(history).split(/[|:]/)
          if (foundEpoch !== epoch || !(Number(length) > batches)) return null
          // Longer than it was: another script checks whether it is the same one.
          await prepareOnce()
          if (seen.epoch !== epoch) return null
        }
        return toValues(found)
      }),
  }
}

/** The first three of what every script answers that tells where a history is. */
function toSeen([epoch, batches, nonce]: readonly Reply[]): Seen {
  return { epoch: String(epoch), batches: Number(batches), nonce: String(nonce) }
}

function toProof({ epoch, batches, nonce }: Seen): string {
  return `${epoch}|${batches}|${nonce}`
}

function isList(reply: Reply): reply is readonly Reply[] {
  return typeof reply === 'object' && reply !== null
}

// What `READ` answers where the history is the same and none of the keys exists.
const NOTHING_FOUND = '0'

const NO_VALUES: ReadonlyMap<number, string> = new Map()

// Of indexes and values in turn.
function toValues(found: readonly Reply[]): ReadonlyMap<number, string> {
  const values = new Map<number, string>()
  for (let at = 0; at < found.length; at += 2) values.set(Number(found[at]), String(found[at + 1]))
  return values
}

function rethrow(error: unknown): never {
  const newer = error instanceof Error ? /\bLAYOUT (\d+)/.exec(error.message) : null
  if (newer !== null) assertKnownLayout('Redis', Number(newer[1]), LAYOUT_VERSION)
  if (!(error instanceof Error && error.message.includes('KEYPREFIX'))) throw error
  throw new ConfigurationError(
    'The Redis store needs a client without keyPrefix: pass redis.duplicate({ keyPrefix: "" }), ' +
      'and tell stores apart by createRedisStore(client, { namespace })',
    { cause: error },
  )
}

/**
 * Revokes the sessions that started later than the watermark of all reaches, and returns the position after them.
 *
 * `late` is what the script that began it answered: the watermark, and what tells sessions from before and after it.
 */
type Sweep = (run: Run, epoch: string, late: string) => Promise<readonly Reply[]>

// No key has the name 'absent'. While a cluster moves the slot, a script that declares a missing key runs on neither
// node: each of them would walk through a part of the sessions only.
const NAMES = ['log', 'past', 'marks', 'absent']

/** Walks through the sessions, at most once at a time for each marker: a repeat waits for the walk under way. */
export function createSweep(): Sweep {
  const underWay = new Map<string, Promise<readonly Reply[]>>()

  return (run, epoch, late) => {
    const [moment = '', ...rest] = late.split(':')
    const marker = rest.join(':')
    const key = `${epoch}|${marker}`
    const walk = underWay.get(key) ?? walkAll(run, moment, marker).finally(() => underWay.delete(key))
    underWay.set(key, walk)
    return walk
  }
}

async function walkAll(run: Run, moment: string, marker: string): Promise<readonly Reply[]> {
  let cursor = '0'
  let server = ''
  for (;;) {
    const args = [createNonce(systemRandom), moment, marker, cursor, server]
    const reply = await run(SWEEP, NAMES, args)
    cursor = String(reply[4])
    server = String(reply[5])
    if (cursor === '0') return reply
  }
}

/** How many keys of the server one script looks at, about. */
const SWEEP_STEPS = 1000

/**
 * Revokes sessions that started later than a watermark of all reaches, one by one: they were opened while the clock was
 * far ahead. There is no index of all sessions for such a rare case, so it goes through the keys of the server, a part
 * of them at a time. A cursor is worth nothing on another server, or on the same one after a restart.
 *
 * ARGV: the epoch, the time, a nonce, what `beginSweep` returned in two parts, a cursor, and the server it is of.
 * Answers with the position, the cursor to go on with, '0' at the end, and the server.
 */
export const SWEEP: Script = createScript(
  BEGIN,
  `
local moment, late, cursor = tonumber(ARGV[4]), ARGV[5], ARGV[6]
local before = tonumber(string.match(late, '%d+$'))
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and string.match(info, 'run_id:(%w+)') or 'unknown'
if server ~= ARGV[7] then cursor = '0' end

local found = redis.call('SCAN', cursor, 'MATCH', base .. 's:*', 'COUNT', ${SWEEP_STEPS})
local sids = {}
for at, key in ipairs(found[2]) do sids[at] = string.sub(key, #base + 3) end
local entries, users = revocable(sids, function(row)
  local opened = row[9] or 0
  return row[3] > moment and (opened < before or opened > changes)
end)
if #entries > 0 then append(entries, ARGV[3]) end
for sid, user in pairs(users) do removeSession(sid, user) end
if found[1] == '0' and state[8] == late then redis.call('HDEL', meta, 'late', 'lost') end
return { epoch, text(batches), state[5] or '', text(changes), found[1], server }
`,
)

/**
 * The values of keys. Every request may come here, so it does not begin with `HEAD`.
 *
 * KEYS: the epoch, the count, and those to read. ARGV: the epoch and the count that the caller knows, as 'epoch|count'.
 * Answers with 0 where these are the same and none of the keys exists. Otherwise with '' where they are the same, or
 * what they are now; then the index and the value of each key that exists.
 */
export const READ: Script = createScript(
  REFUSAL,
  `
local refused = refusal()
if refused then return refused end
local values = redis.call('MGET', unpack(KEYS))
local history = (values[1] or '-') .. '|' .. (values[2] or '0:')
local reply = { history == ARGV[1] and '' or history }
for at = 3, #values do
  if values[at] then
    reply[#reply + 1] = at - 3
    reply[#reply + 1] = values[at]
  end
end
if #reply == 1 and reply[1] == '' then return 0 end
return reply
`,
)
