import { CommandError } from '../exit.js'
import type { RedisProbe } from '../opened-store.js'
import {
  assertKnownLayout,
  checkServer,
  createLossReporter,
  createNamespace,
  createScript,
  createSend,
  HEAD,
  LAYOUT_VERSION,
  READ,
  type Reply,
  runScript,
} from 'tokenlib/kit'
import { isConfigurationError } from 'tokenlib'
import type { Endpoint } from './endpoint.js'
import { type ClockDifference, type Latency, measureClock, measureLatency } from './measure.js'

/** What `doctor` knows of a Redis server; `null` is what the user of the connection may not see. */
export interface RedisFacts {
  /** The lines of INFO. */
  readonly info: ReadonlyMap<string, string> | null
  /** `appendfsync`. */
  readonly fsync: string | null
  readonly minReplicas: number | null
  /** Why the store would not start, or `null`. */
  readonly refusal: string | null
  readonly write: RedisWriteFacts
  /** The state of the namespace. */
  readonly history: 'whole' | 'damaged' | 'absent' | null
  readonly entries: number | null
  /** The node that has the namespace, where that is another one of a cluster. */
  readonly movedTo: string | null
  readonly latency: Latency | null
  readonly clock: ClockDifference | null
  readonly endpoint: Endpoint
}

/** What the user of a connection may do. */
export interface RedisWriteFacts {
  /** What the server answered to a write that changes nothing; `null` where it took it. */
  readonly error: string | null
  /** Commands that the store needs and the user may not run; empty where a server cannot tell, before Redis 7. */
  readonly deniedCommands: readonly string[]
  readonly mayPublish: boolean
}

/** Reads everything that the checks need. Nothing is written. */
export async function readRedis(
  probe: RedisProbe,
  namespace: string,
  endpoint: Endpoint,
): Promise<RedisFacts> {
  const send = createSend({
    call: (command, args) => probe.command(command, ...args).catch(unwrap),
  })
  const losses = createLossReporter('Redis', () => undefined)
  const names = createNamespace(send, namespace, { clock: undefined, losses })
  const key = (name: string): string => names.key(name)
  const keys = ['meta', 'epoch', 'count', 'log', 'past', 'marks', 'r:a:'].map(key)
  const lookupKeys = ['epoch', 'count', 'r:t:doctor', 'r:s:doctor', 'r:u:doctor', 'r:k:doctor', 'r:a:'].map(
    key,
  )
  let movedTo: string | null = null
  const attempt = async <Answer>(run: () => Promise<Answer>): Promise<Answer | null> => {
    try {
      return await run()
    } catch (error) {
      if (!isAnswer(error)) throw error
      movedTo = /^MOVED \d+ (\S+)/.exec(error.message)?.[1] ?? movedTo
      return null
    }
  }

  const info = await attempt(() => send('', ['INFO']))
  const refusal = await readRefusal(async () => {
    await checkServer(send, key('meta'), false, () => undefined)
    const layout = await send(key('meta'), ['HMGET', key('meta'), 'version', 'oldest'])
    const [version, oldest] = isList(layout) ? layout.map(toNumber) : []
    assertKnownLayout('Redis', { version: version ?? LAYOUT_VERSION, oldest: oldest ?? null }, LAYOUT_VERSION)
  })
  const history = await attempt(() => runScript(send, HISTORY, keys, ['', '']))
  const [state, entries] = isList(history) ? history : [null, null]
  return {
    info: typeof info === 'string' ? toLines(info) : null,
    fsync: await attempt(() => readSetting(probe, 'appendfsync')),
    minReplicas: toNumber(await attempt(() => readSetting(probe, 'min-replicas-to-write'))),
    refusal,
    write: await readWrite(() => runScript(send, WRITE, [key('absent')], [key('news')])),
    history: state as RedisFacts['history'],
    entries: toNumber(entries),
    latency: await attempt(() => measureLatency(() => runScript(send, READ, lookupKeys, ['|0:']))),
    clock: await attempt(() => measureClock(async () => toMilliseconds(await send('', ['TIME'])))),
    movedTo,
    endpoint,
  }
}

/** The same beginning as every script of the store; answers with the state that its PREPARE would find. */
const HISTORY = createScript(
  HEAD,
  `
local isCounted = redis.call('GET', base .. 'count') == text(batches) .. ':' .. (state[5] or '')
if epoch and isCounted and isWhole() then return { 'whole', text(redis.call('ZCARD', log) - 1) } end
if state[1] or redis.call('EXISTS', base .. 'epoch', log, marks) > 0 then return { 'damaged', false } end
return { 'absent', '0' }
`,
)

// Every command of the store's scripts, with arguments that a server can find the keys in.
const COMMANDS =
  'TIME;SCAN 0;GET key;SET key 1;MGET key;DEL key;EXISTS key;' +
  'HMGET key f;HSET key f v;HDEL key f;RPUSH key v;LTRIM key 0 1;LINDEX key 0;' +
  'ZADD key 0 m;ZREM key m;ZSCORE key m;ZCARD key;ZCOUNT key 0 1;ZREVRANK key m;' +
  'ZRANGE key 0 1;ZREVRANGE key 0 1;ZRANGEBYSCORE key 0 1;ZREVRANGEBYSCORE key 1 0;' +
  'ZREMRANGEBYSCORE key 0 0;PTTL key;PEXPIRE key 1;PERSIST key'

/** KEYS[1] never exists: SET … XX writes nothing, and fails like every write of a user or a server that may not. */
const WRITE = createScript(`
local answer = redis.pcall('SET', KEYS[1], '', 'XX')
local failure, denied, mayPublish = '', {}, '1'
if type(answer) == 'table' and answer.err then failure = answer.err end
if redis.acl_check_cmd then
  for command in string.gmatch('${COMMANDS}', '[^;]+') do
    local words = {}
    for word in string.gmatch(command, '%S+') do words[#words + 1] = word == 'key' and KEYS[1] or word end
    if not redis.acl_check_cmd(unpack(words)) then denied[#denied + 1] = words[1] end
  end
  if not redis.acl_check_cmd('PUBLISH', ARGV[1], '') then mayPublish = '0' end
end
return { failure, table.concat(denied, ' '), mayPublish }
`)

async function readWrite(run: () => Promise<Reply>): Promise<RedisWriteFacts> {
  try {
    const [failure, denied, mayPublish] = (await run()) as readonly string[]
    return {
      error: failure === '' ? null : String(failure),
      deniedCommands: String(denied).split(' ').filter(Boolean),
      mayPublish: mayPublish === '1',
    }
  } catch (error) {
    if (!isAnswer(error)) throw error
    return { error: error.message, deniedCommands: [], mayPublish: true }
  }
}

async function readRefusal(check: () => Promise<void>): Promise<string | null> {
  try {
    await check()
    return null
  } catch (error) {
    // What the server answers with an error, the store rejects with too.
    if (isConfigurationError(error) || isAnswer(error)) return error.message
    throw error
  }
}

async function readSetting(probe: RedisProbe, name: string): Promise<string | null> {
  const answer = await probe.command('CONFIG', 'GET', name).catch(unwrap)
  // By version 2 of the protocol a list of names and values, by version 3 a map.
  const pairs: unknown = answer instanceof Map ? Object.fromEntries(answer) : answer
  const value: unknown = Array.isArray(pairs) ? pairs[1] : (pairs as Record<string, unknown> | null)?.[name]
  return typeof value === 'string' ? value : null
}

// The command line wraps what a client rejects with; an answer of the server is not about the connection.
function unwrap(error: unknown): never {
  throw error instanceof CommandError && isAnswer(error.cause) ? error.cause : error
}

// An answer of the server (NOPERM, READONLY, MOVED …), not a connection that failed.
function isAnswer(error: unknown): error is Error {
  return error instanceof Error && /^-?[A-Z]+ /.test(error.message)
}

function isList(reply: Reply | undefined): reply is readonly Reply[] {
  return Array.isArray(reply)
}

function toLines(text: string): ReadonlyMap<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

function toMilliseconds(time: Reply): number {
  const [seconds, microseconds] = isList(time) ? time.map(Number) : []
  return (seconds ?? Number.NaN) * 1000 + (microseconds ?? 0) / 1000
}

function toNumber(text: Reply | undefined): number | null {
  return typeof text === 'string' ? Number(text) : null
}
