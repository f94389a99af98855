import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, type History, machineMs, type Operation, STARVED } from './history.js'
import {
  checkFinally,
  revokeElsewhere,
  revokeSlowly,
  type Script,
  startNode,
  startNodeOn,
  waitForStore,
} from './scripted-node.js'
import { createScriptedServer, type ScriptedServer } from './scripted-store.js'
import { childOf, firstToken } from '../../../packages/contracts/src/store-fixture.js'
import { watchStarvation } from './watch-starvation.js'

interface Step extends Script {
  readonly server: ScriptedServer
  readonly faults: Fault[]
  /** When the machine ran others instead. */
  readonly starved: readonly Fault[]
}

const BOUND_MS = 200
// Longer than the bound, by more than a timer can be off.
const TOO_LONG_MS = 300
const LATE_ANSWERS = 5
const LIMIT_MS = 5000

/** What happens to replicas in a scripted run, each on a server of its own. */
const STEPS: Readonly<Record<string, (step: Step) => Promise<void>>> = {
  'an answer takes longer than the bound, and something is revoked meanwhile': async (step) => {
    const { server, boundMs } = step
    const node = await startNode(step, 'verifier', server)
    const asked: string[] = []
    node.connection.onFeed = async (read) => {
      const page = read()
      asked.push(`token:late/${asked.length}`)
      await revokeElsewhere(step, server, asked.slice(-1))
      await sleep(TOO_LONG_MS)
      return page
    }
    // A busy machine may let the moment pass that shows it; there are several.
    const from = machineMs()
    while (asked.length <= LATE_ANSWERS && machineMs() - from < LIMIT_MS) await node.watch(asked, boundMs)
    await node.close()
  },
  'the event loop stalls, and something is revoked meanwhile': async (step) => {
    const { server } = step
    const node = await startNode(step, 'verifier', server)
    node.connection.onFeed = () => new Promise(() => undefined)
    await revokeElsewhere(step, server, ['token:stalled/0'])
    for (const from = machineMs(); machineMs() - from < TOO_LONG_MS;);
    node.check('token:stalled/0')
    await node.close()
  },
  'the store loses everything': async (step) => {
    const { server, boundMs } = step
    const [one, two] = [await startNode(step, 'one', server), await startNode(step, 'two', server)]
    const keys = ['token:loss/0', 'session:loss/1', 'user:loss/2', 'token:loss/3', 'token:loss/4']
    const positions: string[] = []
    for (const key of keys) positions.push(await one.revoke(key))
    const laterStart = Date.now() + 1
    one.check('user:loss/2', laterStart)
    for (const node of [one, two]) await node.waitFor(keys)
    const t0 = machineMs()
    server.lose()
    const t1 = machineMs()
    step.faults.push({ kind: 'loss', t0, t1, processes: null, lost: { from: 0, to: t1 } })
    // Before anybody has read the new history.
    for (const [at, key] of keys.entries()) await one.lookup(key, positions[at] ?? '')
    await revokeElsewhere(step, server, ['token:after/0'])
    await two.watch([...keys, 'token:after/0'], 4 * boundMs)
    await waitForStore(server, keys)
    await one.waitFor(['token:after/0'])
    await one.watch(keys, boundMs)
    one.check('user:loss/2', laterStart)
    await checkFinally(step, server, { one, two }, [...keys, 'token:after/0'])
    for (const node of [one, two]) await node.close()
  },
  'a standby without the last writes becomes the primary, and goes on': async (step) => {
    const { server, boundMs } = step
    const node = await startNode(step, 'verifier', server)
    const [kept, lost, added] = ['kept', 'lost', 'added'].map((name) =>
      Array.from({ length: 3 }, (_, at) => `token:${name}/${at}`),
    ) as [string[], string[], string[]]
    await revokeElsewhere(step, server, kept)
    const t0 = machineMs()
    await revokeElsewhere(step, server, lost)
    await node.waitFor(lost)
    // As many as were lost, before the replica looks again.
    let resume: () => void = () => undefined
    const held = new Promise<void>((resolve) => (resume = resolve))
    node.connection.onFeed = async (read) => (await held, read())
    server.loseAfter(3)
    const t1 = machineMs()
    step.faults.push({ kind: 'failover', t0, t1, processes: null, lost: { from: t0, to: t1 } })
    await revokeElsewhere(step, server, added)
    node.connection.onFeed = null
    resume()
    await node.watch([...kept, ...lost, ...added], 4 * boundMs)
    await waitForStore(server, lost)
    await checkFinally(step, server, { verifier: node }, [...kept, ...lost, ...added])
    await node.close()
  },
  'a process starts when there are many pages': async (step) => {
    const { server, boundMs } = step
    const keys = Array.from({ length: 40 }, (_, at) => `token:page/${at}`)
    await revokeElsewhere(step, server, keys)
    await sleep(boundMs + 50)
    const node = await startNode(step, 'verifier', server)
    await node.watch(keys, boundMs)
    await checkFinally(step, server, { verifier: node }, keys)
    await node.close()
  },
  'a revocation takes long, and a later one overtakes it': async (step) => {
    const { server, boundMs } = step
    const node = await startNode(step, 'verifier', server)
    let commit: () => void = () => undefined
    const slow = revokeSlowly(step, server, 'token:slow/0', new Promise((resolve) => (commit = resolve)))
    await revokeElsewhere(step, server, ['token:fast/0'])
    await node.waitFor(['token:fast/0'])
    commit()
    await slow
    await node.watch(['token:slow/0', 'token:fast/0'], 3 * boundMs)
    await checkFinally(step, server, { verifier: node }, ['token:slow/0', 'token:fast/0'])
    await node.close()
  },
  'the store stops answering, and something is revoked elsewhere': async (step) => {
    const { server, boundMs } = step
    const node = await startNode(step, 'verifier', server)
    node.connection.onFeed = async () => Promise.reject(new Error('The store is down'))
    await revokeElsewhere(step, server, ['token:unseen/0'])
    await node.watch(['token:unseen/0'], 3 * boundMs)
    node.connection.onFeed = null
    await checkFinally(step, server, { verifier: node }, ['token:unseen/0'])
    await node.close()
  },
  'a process starts when the store does not answer': async (step) => {
    const { server, boundMs } = step
    await revokeElsewhere(step, server, ['token:before/0'])
    await sleep(boundMs + 50)
    const connection = server.connect()
    connection.onFeed = async () => Promise.reject(new Error('The store is down'))
    const node = await startNodeOn(step, 'verifier', connection)
    await node.watch(['token:before/0'], boundMs)
    await node.close()
  },
  'a process revokes while its feed is slow': async (step) => {
    const { server, boundMs } = step
    const node = await startNode(step, 'revoker', server)
    node.connection.onFeed = async (read) => {
      const page = read()
      await sleep(boundMs / 4)
      return page
    }
    for (let at = 0; at < 5; at++) {
      await node.revoke(`token:own/${at}`)
      node.check(`token:own/${at}`)
    }
    await node.close()
  },
  'the store is asked for what the replica has not read yet': async (step) => {
    const { server } = step
    const node = await startNode(step, 'verifier', server)
    for (let at = 0; at < 10; at++) {
      const position = await revokeElsewhere(step, server, [`token:asked/${at}`])
      await node.lookup(`token:asked/${at}`, position)
      node.check(`token:asked/${at}`)
    }
    await node.close()
  },
  'users are revoked, and log in again': async (step) => {
    const { server, boundMs } = step
    const node = await startNode(step, 'verifier', server)
    const keys = Array.from({ length: 5 }, (_, at) => `user:again/${at}`)
    const later: [string, number][] = []
    for (const key of keys) {
      await revokeElsewhere(step, server, [key])
      later.push([key, Date.now() + 1])
    }
    await node.waitFor(keys)
    for (const [key, start] of later) node.check(key, start)
    await node.watch(keys, boundMs)
    await node.close()
  },
  'the store is a relay, and says how old its answers are': async (step) => {
    const { server, boundMs } = step
    const node = await startNode(step, 'verifier', server)
    const known = server.connect().store
    const old = await known.feed(null, { waitMs: 0 })
    const readAt = machineMs()
    node.connection.onFeed = async () => ({ ...old, ageMs: machineMs() - readAt })
    await revokeElsewhere(step, server, ['token:relayed/0'])
    await node.watch(['token:relayed/0'], 3 * boundMs)
    await node.close()
  },
  'two siblings of a refresh token are sent at once, and an old one by a thief': async (step) => {
    const node = await startNode(step, 'client', step.server)
    const sid = await node.openSession()
    // Made long ago, so that they move the session on at once.
    const first = { ...firstToken(sid), issuedAt: 0 }
    const [one, other] = [childOf(first, 0), childOf(first, 0)]
    await Promise.all([node.rotate(sid, first), node.rotate(sid, first)])
    await Promise.all([node.rotate(sid, one), node.rotate(sid, other)])
    for (const token of [childOf(one, 0), first, one]) await node.rotate(sid, token)
    await node.close()
  },
  'nothing happens': async (step) => {
    const node = await startNode(step, 'verifier', step.server)
    // Until the machine has let it run for long enough, if it ever does.
    for (let attempt = 0; attempt < 10; attempt++) {
      const from = machineMs()
      await node.watch(['token:never/0'], 5 * step.boundMs)
      if (step.starved.every(({ t1 }) => t1 < from)) break
    }
    await node.close()
  },
}

/** Runs every step; one history for each. */
export async function runSteps(): Promise<Record<string, History>> {
  const histories: Record<string, History> = {}
  const starved: Fault[] = []
  const stopWatching = watchStarvation(BOUND_MS / 4, (t0, t1) =>
    starved.push({ kind: STARVED, t0, t1, processes: null }),
  )
  const run = async (name: string): Promise<void> => {
    const operations: Operation[] = []
    const faults: Fault[] = []
    const t0 = machineMs()
    const server = createScriptedServer()
    await STEPS[name]?.({ boundMs: BOUND_MS, operations, faults, starved, server })
    // Every step but the last hurts something for as long as it takes.
    if (name !== 'nothing happens') faults.push({ kind: name, t0, t1: machineMs(), processes: null })
    const wallLeadMs = Date.now() - machineMs()
    histories[name] = { boundMs: BOUND_MS, restoreMs: 2 * BOUND_MS, wallLeadMs, operations, faults }
  }
  // One of them stalls the event loop, which the others share.
  const [stalling, ...others] = Object.keys(STEPS).toSorted((one) => (one.includes('stalls') ? -1 : 1))
  await run(stalling as string)
  await Promise.all(others.map(run))
  stopWatching()
  return Object.fromEntries(
    Object.entries(histories).map(([name, history]) => [
      name,
      { ...history, faults: [...history.faults, ...starved] },
    ]),
  )
}
