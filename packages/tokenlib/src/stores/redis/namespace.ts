import { createNonce, systemRandom } from '../../tokens/ids.js'
import { ConfigurationError } from '../../errors.js'
import { assertKnownLayout } from '../store-parts.js'
import type { LossReporter } from '../loss-reporter.js'
import { type Clock, createCheckedClock } from '../../time.js'
import { retryAfterLoss } from '../store-parts.js'
import { createScript, type Reply, type Run, runScript, type Script, type Send } from './client.js'
import { REFUSAL } from './lua.js'
import { LAYOUT_VERSION, PREPARE, SWEEP } from './revocation-scripts.js'

/** The keys of one store, and the history that they belong to. */
export interface Namespace {
  /** The name of a key; all of them are in one slot of a cluster. */
  readonly key: (name: string) => string
  /** Makes the namespace ready; after a loss of its data, revokes everything from before and reports that. */
  prepare(longestLifetime: number): Promise<void>
  /** Runs a script. Its arguments start with the history and the time. */
  readonly run: Run
  /** Runs a script that may append to the history. It gets a nonce before its other arguments, and returns a position. */
  readonly write: Run
  /** The values of those keys that exist, by index: as the primary has them, in the history that this process knows. */
  read(keys: readonly string[]): Promise<ReadonlyMap<number, string>>
}

interface Seen {
  readonly epoch: string
  readonly batches: number
  /** Of the last batch; empty before the first. */
  readonly nonce: string
}

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
  // The last batch that this process has seen. A history with another batch in its place is a different history.
  let seen: Seen = { epoch: '', batches: 0, nonce: '' }
  // Not the one of the store, whose walks may wait for `prepare`.
  const sweep = createSweep()
  let longest = 0
  let preparing: Promise<void> | null = null
  // The history that a loss was reported with: several calls may find the same loss.
  let reported = ''
  // The moment of a loss that was found, and is not reported yet.
  let unreported = ''

  // Runs a script once, without the retries after a loss.
  const runOnce = async ({ epoch, batches, nonce }: Seen, ...[script, names, args]: Parameters<Run>) => {
    const known = `${epoch}|${batches}|${nonce}`
    const reply = await runScript(send, script, [meta, ...names.map(key)], [known, time(), ...args])
    return isList(reply) ? reply : null
  }

  const prepare = async (): Promise<void> => {
    let progress: string | undefined
    do {
      const { epoch, batches, nonce } = seen
      const isRestored = losses.canRestore() ? '1' : '0'
      const random = createNonce(systemRandom)
      const args = [epoch, time(), String(longest), random, meta, String(batches), nonce, isRestored]
      const reply = (await runScript(send, PREPARE, keys, args).catch(rethrow)) as readonly Reply[]
      const [step, revokedBefore, late] = reply.slice(4).map(String)
      progress = step
      unreported = revokedBefore || unreported
      let found = toSeen(reply)
      if (late) {
        const write: Run = async (...given) => {
          const answer = await runOnce(found, ...toWrite(...given))
          if (answer === null) throw new Error('The data of the Redis store was removed again')
          return answer
        }
        found = toSeen(await sweep(write, found.epoch, late))
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

  const retry = <Answer>(attempt: () => Promise<Answer | null>): Promise<Answer> =>
    retryAfterLoss('Redis', attempt, prepareOnce)

  const run: Run = (...given) => retry(() => runOnce(seen, ...given))

  return {
    key,
    async prepare(longestLifetime) {
      longest = Math.max(longest, longestLifetime)
      await prepare()
    },
    run,
    async write(...given) {
      const reply = await run(...toWrite(...given))
      recordProgress(toSeen(reply), false)
      return reply
    },
    read: (names) =>
      retry(async () => {
        const { epoch, batches, nonce } = seen
        const known = `${epoch}|${batches}:${nonce}`
        const reply = await runScript(send, READ, [epochKey, countKey, ...names], [known])
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

function toWrite(...[script, names, args]: Parameters<Run>): Parameters<Run> {
  return [script, ['log', 'past', 'marks', ...names], [createNonce(systemRandom), ...args]]
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
type Sweep = (write: Run, epoch: string, late: string) => Promise<readonly Reply[]>

/** Walks through the sessions, at most once at a time for each marker: a repeat waits for the walk under way. */
export function createSweep(): Sweep {
  const underWay = new Map<string, Promise<readonly Reply[]>>()

  return (write, epoch, late) => {
    const [moment = '', ...rest] = late.split(':')
    const marker = rest.join(':')
    const key = `${epoch}|${marker}`
    const walking = underWay.get(key) ?? walk(write, moment, marker).finally(() => underWay.delete(key))
    underWay.set(key, walking)
    return walking
  }
}

async function walk(write: Run, moment: string, marker: string): Promise<readonly Reply[]> {
  let [cursor, server] = ['0', '']
  for (;;) {
    // No key has the name 'absent'. While a cluster moves the slot, a script that declares a missing key runs on neither
    // node: each of them would walk through a part of the sessions only.
    const reply = await write(SWEEP, ['absent'], [moment, marker, cursor, server])
    cursor = String(reply[4])
    server = String(reply[5])
    if (cursor === '0') return reply
  }
}

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
