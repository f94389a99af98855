import {
  defineStore,
  type Position,
  type RevocationStore,
} from '../../packages/tokenlib/src/revocation/store.js'
import type { SessionStore } from '../../packages/tokenlib/src/revocation/session-store.js'
import { createLossReporter } from '../../packages/tokenlib/src/stores/loss-reporter.js'
import { retryAfterLoss } from '../../packages/tokenlib/src/stores/store-parts.js'
import type { Link } from './network.js'
import { NOTHING, type Reply, type Seen, type StoreServer, toPosition } from './store-server.js'

/** The store of a process whose server is at the other end of a link. */
export function createRemoteStore(server: StoreServer, link: Link, isFull: () => boolean): RevocationStore {
  const losses = createLossReporter('simulated', () => {})
  let seen: Seen = NOTHING
  let longest = 0

  const note = (found: Seen, isVerified: boolean): void => {
    const isOther = found.epoch !== seen.epoch
    if (isOther ? !isVerified : found.batches <= seen.batches) return
    const isFirst = seen.epoch === ''
    seen = found
    if (isOther && !isFirst) losses.reportHistory()
  }

  const prepare = async (): Promise<void> => {
    const known = seen
    const reply = await link.send(() => server.prepare(known, longest, losses.canRestore()))
    note(reply.seen, true)
    if (reply.value !== null) losses.report(reply.value)
  }

  const ask = <Value>(run: (known: Seen) => Promise<Reply<Value> | null>): Promise<Reply<Value>> =>
    retryAfterLoss(
      'simulated',
      async () => {
        const known = seen
        const reply = await link.send(() => run(known))
        if (reply !== null) note(reply.seen, false)
        return reply
      },
      prepare,
    )

  type Run<Value> = (store: RevocationStore) => Promise<Value>
  const read = async <Value>(run: Run<Value>): Promise<Value> =>
    (await ask((known) => server.read(known, run))).value
  const send = <Value>(run: Run<Value>): Promise<Reply<Value>> =>
    ask(async (known) => {
      if (isFull()) throw new Error('The server is full')
      return server.write(known, run)
    })
  const write = async <Value>(run: Run<Value>): Promise<Value> => (await send(run)).value
  const writeAt = async <Value extends { readonly position: Position }>(run: Run<Value>): Promise<Value> => {
    const { value, seen: at } = await send(run)
    return { ...value, position: toPosition(at, value.position.slice(value.position.indexOf(':') + 1)) }
  }

  const sessions: Required<SessionStore> = {
    open: (session) => write((store) => of(store).open(session)),
    openLimited: (session, limit) => write((store) => of(store).openLimited(session, limit)),
    rotate: (sid, token, options) => write((store) => of(store).rotate(sid, token, options)),
    // It writes if the token was used before.
    present: (sid, token, rules) => write((store) => of(store).present(sid, token, rules)),
    list: (user, options) => read((store) => of(store).list(user, options)),
    get: (sid, rules) => read((store) => of(store).get(sid, rules)),
    writeData: (sid, data, before) => write((store) => of(store).writeData(sid, data, before)),
  }

  return defineStore<RevocationStore>({
    system: 'simulated',
    async prepare(needs) {
      losses.listen(needs)
      longest = Math.max(longest, needs.longestLifetime)
      await prepare()
    },
    revoke: (batch) => writeAt((store) => store.revoke(batch)),
    claim: (batch) => writeAt((store) => store.claim(batch)),
    lookup: (keys) => read((store) => store.lookup(keys)),
    restore: (batch) => write(async (store) => store.restore?.(batch)),
    feed: async (after) => (await ask((known) => server.feed(known, after))).value,
    watch(listener) {
      const stop = server.watch(() => (link.isClosed() ? stop() : link.notify(listener)))
      return stop
    },
    prune: (limit) => write((store) => store.prune(limit)),
    sessions,
    async close() {},
  })
}

function of({ sessions }: RevocationStore): Required<SessionStore> {
  return sessions as Required<SessionStore>
}
