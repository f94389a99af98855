import { anyText, callable, flag, type OptionKinds, parseOptions, clockKind } from '../options.js'
import { FOREVER, type Revocation } from '../revocation/revocation.js'
import { assertSpendable } from '../revocation/spent-ids.js'
import { defineStore, type RevocationStore } from '../revocation/store.js'
import { callQuietly, createLossReporter } from './loss-reporter.js'
import { pollFeed } from './store-parts.js'
import { withOrigin } from './store-origin.js'
import { emitWarning } from '../runtime.js'
import { type Clock, schedulerOf, systemClock } from '../time.js'
import { checkServer } from './redis/check-server.js'
import { createSend, type RedisClient, type Script, watchChannel } from './redis/client.js'
import { createNamespace, createSweep } from './redis/namespace.js'
import { CLAIM, RESTORE, REVOKE } from './redis/revocation-scripts.js'
import { createLookup, prune, readFeed, revokeLate, toMember, toPosition } from './redis/revocations.js'
import { createRedisSessions } from './redis/sessions.js'

export type { RedisClient, Reply as RedisReply } from './redis/client.js'
export { inspectRedis, type RedisInspection, type RedisRights } from './redis/inspect.js'

/** How a Redis store behaves. */
export interface RedisStoreOptions {
  /** Stores with the same namespace share their data; 1 to 64 of the characters A-Z a-z 0-9 . _ -; `tokenlib` by default. */
  readonly namespace?: string
  /** Accept a server that forgets: without an append-only file, or with one that evicts keys. */
  readonly allowVolatile?: boolean
  /**
   * The provider keeps acknowledged writes without an append-only file, and evicts nothing. Settings that `INFO` does not
   * show are not checked. A server that shows an eviction policy is still rejected.
   */
  readonly assumeDurable?: boolean
  /** Called if the server cannot be checked, and when the store finds its data lost; by default `process.emitWarning`. */
  readonly onWarning?: (message: string) => void
  /** Replaces the clock of the server, for tests. */
  readonly clock?: Clock
}

const OPTIONS: OptionKinds<RedisStoreOptions> = {
  namespace: anyText,
  allowVolatile: flag,
  assumeDurable: flag,
  onWarning: callable(),
  clock: clockKind,
}

/**
 * Creates a store in Redis or Valkey. The client, of `ioredis` or `redis`, stays yours: the store never closes it.
 *
 * Each revocation and each change of a session is one script on the primary, so it is applied completely or not at all.
 *
 * @example
 * const store = createRedisStore(new Redis('redis://127.0.0.1:6379'))
 */
export function createRedisStore(client: RedisClient, options: RedisStoreOptions = {}): RevocationStore {
  const parsed = parseOptions('createRedisStore()', options, OPTIONS)
  // A class in ioredis 6 extends `String`. After that, V8 looks up string methods on every call, in the whole process, until
  // something is stored in an object that inherits from `String.prototype`.
  ;(Object.create(String.prototype) as { isFast?: boolean }).isFast = true
  const { namespace: name = 'tokenlib', onWarning: warn = warnOfRedis, clock } = parsed
  const { allowVolatile = false, assumeDurable = false } = parsed
  const send = createSend(client)
  const losses = createLossReporter('Redis', warn)
  const namespace = createNamespace(send, name, { clock, losses })
  const sweep = createSweep()
  let checked: Promise<void> | undefined

  const check = (): Promise<void> =>
    (checked ??= checkServer(send, namespace.key('meta'), { allowVolatile, assumeDurable }, warn).catch(
      (error: unknown) => {
        checked = undefined
        throw error
      },
    ))

  const write = (script: Script, batch: readonly Revocation[], names: readonly string[] = []) =>
    namespace.write(
      script,
      [...batch.map((entry) => `r:${toMember(entry)}`), ...names],
      batch.flatMap((entry) => [toMember(entry), toNumeral(entry.notBefore), toNumeral(entry.until)]),
    )

  const store = defineStore<RevocationStore>({
    system: 'redis',
    async prepare(needs) {
      losses.listen(needs)
      await check()
      await namespace.prepare(needs.longestLifetime)
    },
    async revoke(batch) {
      // The row of a session, and the list of a user: some of them may have to be revoked one by one.
      const concerned = batch.flatMap(({ kind, id }) =>
        kind === 'session' ? `s:${id}` : kind === 'user' ? `u:${id}` : [],
      )
      const reply = await write(REVOKE, batch, concerned)
      const late = String(reply[5])
      const ofUsers = (await revokeLate(namespace, reply.slice(6))) ?? reply
      const last = late === '' ? ofUsers : await sweep(namespace.write, String(reply[0]), late)
      return { position: toPosition(last), now: Number(reply[4]) }
    },
    async claim(batch) {
      const reply = await write(CLAIM, batch)
      return { isFirst: reply[4] === '1', position: toPosition(reply) }
    },
    lookup: createLookup(namespace),
    async restore(batch) {
      const sessions = batch.filter(({ kind }) => kind === 'session')
      await write(
        RESTORE,
        batch,
        sessions.map(({ id }) => `s:${id}`),
      )
    },
    watch: (listener) => watchChannel(client, namespace.key('news'), () => callQuietly(listener)),
    feed: (after, wait) =>
      pollFeed(() => readFeed(namespace, after), wait, schedulerOf(clock ?? systemClock)),
    async spend(id, keepMs) {
      assertSpendable(id, keepMs)
      // No script: a write is refused by a replica in any case, and no history has to be known.
      const key = namespace.key(`spent:${id}`)
      const reply = await send(key, ['SET', key, '1', 'NX', 'PX', String(keepMs)])
      // Inside a transaction, for example, a server answers everything with QUEUED.
      if (reply !== null && reply !== 'OK') throw new Error('The Redis server did not answer SET')
      return reply === 'OK'
    },
    prune: (limit) => prune(namespace, limit),
    sessions: createRedisSessions(namespace),
    async close() {},
  })
  return withOrigin(store, { kind: 'redis', client, namespace: name })
}

function warnOfRedis(message: string): void {
  emitWarning(message, 'RedisStoreWarning')
}

function toNumeral(moment: number): string {
  return String(Math.min(FOREVER, Math.ceil(moment)))
}
