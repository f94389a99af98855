import { assertKnownLayout } from '../store-parts.js'
import { createLossReporter } from '../loss-reporter.js'
import { checkServer } from './check-server.js'
import { createScript, createSend, type RedisClient, type Reply, runScript } from './client.js'
import { HEAD } from './lua.js'
import { createNamespace, READ } from './namespace.js'
import { LAYOUT_VERSION } from './revocation-scripts.js'

/** Read-only access to the data of a store, for tools. */
export interface RedisInspection {
  /** Where changes are announced. */
  readonly channel: string
  /** Sends a command to the node that has the namespace. */
  readonly send: (...command: string[]) => Promise<Reply>
  /** Rejects with `ConfigurationError` if a store would not start. */
  assertUsable(): Promise<void>
  /** Whether the namespace is complete, incomplete or unused, and its number of entries, if they can be counted. */
  readHistory(): Promise<readonly [state: 'whole' | 'damaged' | 'absent', entries: number | null]>
  /** What the user of the connection may do. */
  readRights(): Promise<RedisRights>
  /** Looks up the keys of one token, as a request does. */
  lookup(): Promise<unknown>
}

/** What the user of a connection may do. */
export interface RedisRights {
  /** Why the server refused a write that changes nothing; `null` if it accepted it. */
  readonly error: string | null
  /** Commands that the store needs and the user may not run; empty where a server cannot tell, before Redis 7. */
  readonly deniedCommands: readonly string[]
  readonly mayPublish: boolean
}

/** Looks at a namespace through a client. */
export function inspectRedis(
  client: RedisClient,
  { namespace = 'tokenlib' }: { readonly namespace?: string } = {},
): RedisInspection {
  const send = createSend(client)
  const losses = createLossReporter('Redis', () => undefined)
  const { key } = createNamespace(send, namespace, { clock: undefined, losses })
  const meta = key('meta')
  const historyKeys = ['meta', 'epoch', 'count', 'log', 'past', 'marks', 'r:a:'].map(key)
  // Its own id, its session, its user, its key and everybody.
  const lookupKeys = ['epoch', 'count', ...['t', 's', 'u', 'k'].map((kind) => `r:${kind}:inspected`), 'r:a:']

  return {
    channel: key('news'),
    send: (...command) => send(meta, command),
    async assertUsable() {
      await checkServer(send, meta, STRICT, () => undefined)
      const [version] = (await send(meta, ['HMGET', meta, 'version'])) as readonly (string | null)[]
      assertKnownLayout('Redis', Number(version ?? LAYOUT_VERSION), LAYOUT_VERSION)
    },
    async readHistory() {
      const [state, entries] = (await runScript(send, HISTORY, historyKeys, ['', ''])) as readonly string[]
      return [state as 'whole' | 'damaged' | 'absent', entries == null ? null : Number(entries)]
    },
    async readRights() {
      const reply = await runScript(send, RIGHTS, [key('absent')], [key('news')])
      const [error, denied, mayPublish] = reply as readonly string[]
      return {
        error: error === '' ? null : String(error),
        deniedCommands: String(denied).split(' ').filter(Boolean),
        mayPublish: mayPublish === '1',
      }
    },
    lookup: () => runScript(send, READ, lookupKeys.map(key), ['|0:']),
  }
}

const STRICT = { allowVolatile: false, assumeDurable: false }

/** The same beginning as every script of the store; answers with the state that its PREPARE would find. */
const HISTORY = createScript(
  HEAD,
  `
if epoch and isCounted() and isWhole() then return { 'whole', text(redis.call('ZCARD', log) - 1) } end
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
const RIGHTS = createScript(`
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
