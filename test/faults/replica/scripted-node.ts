import { setTimeout as sleep } from 'node:timers/promises'
import type { RevocationStore } from '../../../packages/tokenlib/src/index.js'
import { replicate } from '../../../packages/tokenlib/src/stores/replica.js'
import { FOREVER, type PresentedToken } from '../../../packages/tokenlib/src/kit.js'
import { EARLY } from './check-history.js'
import { machineMs, type Operation, type OperationResult, STORE } from './history.js'
import { LONGEST_LIFETIME, toKey, toKeys, toRevocation } from './keys.js'
import { type Log, logReads } from './log-reads.js'
import { toResult } from './use-sessions.js'
import type { ScriptedConnection, ScriptedServer } from './scripted-store.js'

/** A process of a scripted run: it is none of its own, and has a replica of its own. */
export interface ScriptedNode {
  readonly connection: ScriptedConnection
  readonly store: RevocationStore
  /** Returns the position. */
  revoke(key: string): Promise<string>
  check(key: string, start?: number): OperationResult
  /** By `lookup`, which may ask the store. */
  lookup(key: string, position: string): Promise<void>
  /** Checks all keys, every few milliseconds for some time. */
  watch(keys: readonly string[], forMs: number): Promise<void>
  /** Checks keys until all of them are refused, or for a few seconds. */
  waitFor(keys: readonly string[]): Promise<void>
  /** Returns the id. */
  openSession(): Promise<string>
  rotate(sid: string, token: PresentedToken): Promise<void>
  close(): Promise<void>
}

/** How long something is waited for that a broken replica may never do. */
const WAIT_LIMIT_MS = 2000

/** What a step of a scripted run writes to. */
export interface Script {
  readonly boundMs: number
  readonly operations: Operation[]
}

function createLog({ operations }: Script, process: string): Log {
  return (operation) => void operations.push({ process, life: 1, ...operation })
}

/** A process that has a replica, and is ready unless its connection does not answer. */
export async function startNode(script: Script, name: string, server: ScriptedServer): Promise<ScriptedNode> {
  return startNodeOn(script, name, server.connect())
}

/** The same, on a connection of the caller's. */
export async function startNodeOn(
  script: Script,
  name: string,
  connection: ScriptedConnection,
): Promise<ScriptedNode> {
  const { boundMs } = script
  const log = createLog(script, name)
  const store = replicate(logReads(connection.store, log), { bound: `${boundMs}ms` })
  const check = (key: string, start: number = EARLY): OperationResult => {
    const t0 = machineMs()
    let result: OperationResult
    try {
      result = store.isRevokedNow?.(toKeys(key), start) === true ? 'revoked' : 'valid'
    } catch {
      result = 'unavailable'
    }
    log({ op: 'check', key, start, t0, t1: machineMs(), result })
    return result
  }
  const readState = (): void => {
    const t0 = machineMs()
    const ageMs = store.replica?.readState().ageMs ?? null
    log({ op: 'state', key: '', t0, t1: machineMs(), result: 'ok', ...(ageMs !== null && { ageMs }) })
  }
  await store.prepare({ longestLifetime: LONGEST_LIFETIME })
  await store.replica?.ready().catch(() => undefined)
  return {
    connection,
    store,
    async revoke(key) {
      const t0 = machineMs()
      const { position } = await store.revoke([toRevocation(key)])
      log({ op: 'revoke', key, t0, t1: machineMs(), result: 'ok', position })
      return position
    },
    check,
    async lookup(key, position) {
      const t0 = machineMs()
      const [found] = (await store.lookup(toKeys(key), { atLeast: position })).slice(1)
      const result = found === undefined ? 'valid' : 'revoked'
      log({ op: 'check', key, start: EARLY, t0, t1: machineMs(), result, atLeast: true, position })
    },
    async watch(keys, forMs) {
      for (const from = machineMs(); machineMs() - from < forMs; await sleep(2)) {
        readState()
        for (const key of keys) check(key)
      }
    },
    async waitFor(keys) {
      const from = machineMs()
      while (keys.some((key) => check(key) !== 'revoked') && machineMs() - from < WAIT_LIMIT_MS)
        await sleep(2)
    },
    async openSession() {
      const session = { user: 'ada', nonce: 'session', expiresAt: FOREVER, until: FOREVER }
      return (await toSessions(store).open({ ...session, ip: null, userAgent: null })).sid
    },
    async rotate(sid, token) {
      const rules = { graceMs: 10_000, idleMs: FOREVER, ip: null, userAgent: null }
      const t0 = machineMs()
      const rotation = await toSessions(store).rotate(sid, token, rules)
      const result = toResult(rotation, token)
      log({ op: 'rotate', key: `session:${sid}`, t0, t1: machineMs(), presented: token.id, ...result })
    },
    close: () => store.close(),
  }
}

function toSessions({ sessions }: RevocationStore): NonNullable<RevocationStore['sessions']> {
  if (sessions === undefined) throw new TypeError('The store has no sessions')
  return sessions
}

/** Another process, whose replica is not looked at: what it revokes is acknowledged at once. Returns the last position. */
export async function revokeElsewhere(
  script: Script,
  server: ScriptedServer,
  keys: readonly string[],
): Promise<string> {
  const { store } = server.connect()
  const log = createLog(script, 'elsewhere')
  let position = ''
  for (const key of keys) {
    const t0 = machineMs()
    position = (await store.revoke([toRevocation(key)])).position
    log({ op: 'revoke', key, t0, t1: machineMs(), result: 'ok', position })
  }
  return position
}

/** Revokes a key whose batch is there only when `wait` resolves. */
export async function revokeSlowly(
  script: Script,
  server: ScriptedServer,
  key: string,
  wait: Promise<void>,
): Promise<void> {
  const t0 = machineMs()
  await server.revokeSlowly([toRevocation(key)], wait)
  createLog(script, 'elsewhere')({ op: 'revoke', key, t0, t1: machineMs(), result: 'ok' })
}

/** Waits until a store has these keys, or for a few seconds. */
export async function waitForStore(server: ScriptedServer, keys: readonly string[]): Promise<void> {
  const { store } = server.connect()
  const from = machineMs()
  for (; machineMs() - from < WAIT_LIMIT_MS; await sleep(2)) {
    const answer = await store.lookup(keys.map(toKey))
    if (answer.every((found) => found !== undefined)) return
  }
}

// A read that has just failed is not repeated at once; one that works brings a replica up to date.
async function waitUntilFresh({ store }: ScriptedNode): Promise<void> {
  for (let waited = 0; store.replica?.readState().isFresh === false && waited < 5000; waited += 10) {
    await sleep(10)
  }
}

/** What must be everywhere in the end, where it is. */
export async function checkFinally(
  script: Script,
  server: ScriptedServer,
  nodes: Readonly<Record<string, ScriptedNode>>,
  keys: readonly string[],
): Promise<void> {
  const { store } = server.connect()
  for (const key of keys) {
    for (const [name, node] of Object.entries(nodes)) {
      const log = createLog(script, name)
      await waitUntilFresh(node)
      const t0 = machineMs()
      const result = await node.store.lookup(toKeys(key)).then(
        ([, found]): OperationResult => (found === undefined ? 'valid' : 'revoked'),
        (): OperationResult => 'unavailable',
      )
      log({ op: 'check', key, start: EARLY, t0, t1: machineMs(), result, isFinal: true })
    }
    const t0 = machineMs()
    const [, found] = await store.lookup(toKeys(key))
    const result = found === undefined ? 'valid' : 'revoked'
    createLog(script, STORE)({ op: 'check', key, start: EARLY, t0, t1: machineMs(), result, isFinal: true })
  }
}
