import { randomBytes } from 'node:crypto'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { startChild } from '../child.js'
import { median } from '../figures.js'
import { openStore } from '../replica/stores.js'
import { createIdBatches, revokeIds } from '../tokens.js'
import { LONGEST_LIFETIME } from './lifetime.js'
import { startCountingProxy, startMeasuredServer } from './server.js'

const [CALLER, REPLICA] = ['caller.js', '../replica/replica-process.js'].map(
  (file) => new URL(file, import.meta.url),
)
const CLIENT = {
  ip: '192.0.2.17',
  userAgent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
}
const CONNECTIONS = 10
const PAGE = 500
const ROUNDS = 5

/**
 * @typedef {object} Costs What a store costs. CPU times are in microseconds, sizes in bytes.
 * @property {string} version
 * @property {number[]} load The load average of the machine, before and after.
 * @property {{ server: number, process: number, received: number, sent: number }} read A read that finds nothing.
 * @property {{ server: number, process: number, sent: number }} entry What an entry adds to a read.
 * @property {{ server: number, sent: number }} wakeUp Of one process.
 * @property {{ server: number, inBulk: number }} revoke
 * @property {{ login: number, refresh: number }} session CPU time of the server.
 * @property {{ session: number, entry: number, connection: number }} memory Of the server.
 * @property {{ entries: number, seconds: number, cpu: number, serverCpu: number, bytes: number }} start Of a replica;
 *   `bytes` for each entry.
 * @property {{ idle: Reads, woken: Reads, polled: Reads }} reads With a bound of a second.
 */

/**
 * @typedef {object} Reads What one replica does in a second.
 * @property {number} reads
 * @property {number} entries
 * @property {number} process
 * @property {number} server The difference that it makes there.
 */

/**
 * Measures what replicas and sessions cost a private server.
 *
 * @param {'redis' | 'postgres'} kind
 * @param {{ entries: number, sessions: number, calls: number, seconds: number, revocationsPerSecond: number, log: (line: string) => void }} options
 * @returns {Promise<Costs>}
 */
export async function measureCosts(kind, options) {
  const server = await startMeasuredServer(kind)
  const proxy = await startCountingProxy(server.place)
  const opened = openStore(server.place)
  const callers = []
  const call = async (place, connections) => {
    const caller = await startChild(CALLER, { place, connections })
    callers.push(caller)
    return caller
  }
  try {
    const { store } = opened
    const before = loadavg()[0]
    await store.migrate?.()
    await store.prepare({ longestLifetime: LONGEST_LIFETIME })
    options.log(`${server.version}: sessions`)
    const sessions = await measureSessions(server, store, options)
    // Before there are many entries, which every replica would read first.
    options.log('replicas')
    const near = await call(server.place, CONNECTIONS)
    const followed = await measureReplicas(server, store, near, options)
    options.log('entries')
    const entries = await measureEntries(server, store, options)
    options.log('reads')
    const counted = await call(proxy.place, 1)
    const reads = await measureReads(server, store, near, counted, proxy, options)
    options.log('wake-ups')
    const { revoke, wakeUp, connection } = await measureWakeUps(server, store, near, counted, proxy, options)
    options.log('start')
    const start = await measureStart(server)
    return {
      version: server.version,
      load: [before, loadavg()[0]].map((load) => round(load, 1)),
      ...reads,
      wakeUp,
      revoke: { server: revoke, inBulk: entries.cpu },
      session: { login: sessions.login, refresh: sessions.refresh },
      memory: { session: sessions.bytes, entry: entries.bytes, connection },
      start,
      reads: followed,
    }
  } finally {
    for (const caller of callers) await caller.stop()
    await opened.close()
    proxy.stop()
    await server.stop()
  }
}

async function measureSessions(server, store, { sessions: count }) {
  const before = await server.readMemory()
  const opened = []
  const until = Date.now() + LONGEST_LIFETIME
  const login = await measureEach(server, count, 32, async () => {
    const user = randomBytes(6).toString('hex')
    const nonce = randomBytes(10).toString('base64url')
    opened.push(await store.sessions.open({ user, nonce, expiresAt: until, until, ...CLIENT }))
  })
  const after = await server.readMemory()
  const rules = { graceMs: 0, idleMs: Number.MAX_SAFE_INTEGER, ...CLIENT }
  const refresh = await measureEach(server, count, 32, async (number) => {
    const token = {
      id: randomBytes(16).toString('base64url'),
      parent: '',
      generation: 1,
      issuedAt: Date.now(),
    }
    const { outcome } = await store.sessions.rotate(opened[number].sid, token, rules)
    if (outcome !== 'advanced') throw new Error(`A refresh was answered with "${outcome}"`)
  })
  return { login, refresh, bytes: round((after.sessions - before.sessions) / count) }
}

async function measureEntries(server, store, { entries }) {
  const before = await server.readMemory()
  const cpu = server.readCpu()
  for (const ids of createIdBatches(entries)) await revokeIds(store, ids)
  const used = server.readCpu() - cpu
  const after = await server.readMemory()
  return { cpu: round(used / entries, 1), bytes: round((after.entries - before.entries) / entries) }
}

// The same read over and over: of nothing, and of many entries.
async function measureReads(server, store, near, counted, proxy, { calls }) {
  const [last, ids] = [await revokeOne(store), [...createIdBatches(PAGE)][0]]
  const manyBefore = last
  await revokeIds(store, ids)
  const end = await revokeOne(store)
  const measure = async (after, times, expected) => {
    const rounds = []
    // The first one warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      const cpu = server.readCpu()
      const { cpu: used, entries } = await near.ask({ action: 'read', after, calls: times })
      rounds.push({ server: (server.readCpu() - cpu) / times, process: used })
      if (entries !== expected) throw new Error(`A read returned ${entries} entries instead of ${expected}`)
    }
    const middle = (name) => median(rounds.slice(1).map((round) => round[name]))
    await counted.ask({ action: 'read', after, calls: 10 })
    const bytes = proxy.read()
    await counted.ask({ action: 'read', after, calls: 100 })
    const { received, sent } = proxy.read()
    return {
      server: middle('server'),
      process: middle('process'),
      received: (received - bytes.received) / 100,
      sent: (sent - bytes.sent) / 100,
    }
  }
  const nothing = await measure(end, calls, 0)
  const many = await measure(manyBefore, calls / 20, PAGE + 1)
  const perEntry = (name) => round((many[name] - nothing[name]) / (PAGE + 1), 2)
  return {
    read: {
      server: round(nothing.server, 1),
      process: round(nothing.process, 1),
      received: round(nothing.received),
      sent: round(nothing.sent),
    },
    entry: { server: perEntry('server'), process: perEntry('process'), sent: perEntry('sent') },
  }
}

// What a revocation costs while nobody waits for it, and while many do.
async function measureWakeUps(server, store, near, counted, proxy, { calls }) {
  const watchers = 100
  const times = calls / 10
  const revokeMany = async () => {
    const rounds = []
    while (rounds.length < ROUNDS) rounds.push(await measureEach(server, times, 1, () => revokeOne(store)))
    return median(rounds)
  }
  const alone = await revokeMany()
  const before = await server.readMemory()
  await near.ask({ action: 'watch', count: watchers })
  const connection = ((await server.readMemory()).server - before.server) / watchers
  const watched = await revokeMany()
  await near.ask({ action: 'stop' })
  await counted.ask({ action: 'watch', count: 10 })
  const { sent } = proxy.read()
  for (let number = 0; number < 50; number++) await revokeOne(store)
  await sleep(500)
  const bytes = (proxy.read().sent - sent) / 500
  await counted.ask({ action: 'stop' })
  return {
    revoke: alone,
    wakeUp: { server: round(Math.max(0, (watched - alone) / watchers), 2), sent: round(bytes) },
    connection: round(connection),
  }
}

// What replicas do in a second: at rest, and while tokens are revoked, with wake-ups and without.
async function measureReplicas(server, store, near, { seconds, revocationsPerSecond }) {
  const count = 10
  const measure = async (run) => {
    await near.ask({ action: 'count' })
    const [cpu, from] = [server.readCpu(), performance.now()]
    await run()
    const taken = (performance.now() - from) / 1000
    const serverCpu = (server.readCpu() - cpu) / taken
    const counts = await near.ask({ action: 'count' })
    const perReplica = (name) => round(counts[name] / taken / count, 1)
    return {
      reads: perReplica('reads'),
      entries: perReplica('entries'),
      process: perReplica('cpu'),
      serverCpu,
    }
  }
  const rest = () => sleep(seconds * 1000)
  const revoke = async () => {
    const from = performance.now()
    for (let number = 0; number < seconds * revocationsPerSecond; number++) {
      await sleep(Math.max(0, from + (number * 1000) / revocationsPerSecond - performance.now()))
      await revokeOne(store)
    }
  }
  const alone = { idle: await measure(rest), revoking: await measure(revoke) }
  const difference = ({ serverCpu, ...counts }, without) => ({
    ...counts,
    server: round((serverCpu - without.serverCpu) / count),
  })
  await near.ask({ action: 'follow', count, bound: '1s', hasWakeUps: true })
  const idle = difference(await measure(rest), alone.idle)
  const woken = difference(await measure(revoke), alone.revoking)
  await near.ask({ action: 'stop' })
  await near.ask({ action: 'follow', count, bound: '1s', hasWakeUps: false })
  const polled = difference(await measure(revoke), alone.revoking)
  await near.ask({ action: 'stop' })
  return { idle, woken, polled }
}

async function measureStart(server) {
  const cpu = server.readCpu()
  const child = await startChild(REPLICA, { place: server.place, bound: '1s' }, ['--expose-gc'])
  const { entries, seconds, cpuSeconds, bytes } = child.ready
  const serverCpu = (server.readCpu() - cpu) / 1e6
  await child.stop()
  return {
    entries,
    seconds: round(seconds, 1),
    cpu: round(cpuSeconds, 1),
    serverCpu: round(serverCpu, 1),
    bytes: round(bytes / entries, 1),
  }
}

// The CPU time of the server for each call, in microseconds.
async function measureEach(server, count, atOnce, run) {
  let next = 0
  const work = async () => {
    while (next < count) await run(next++)
  }
  const cpu = server.readCpu()
  await Promise.all(Array.from({ length: atOnce }, work))
  return round((server.readCpu() - cpu) / count, 1)
}

async function revokeOne(store) {
  const id = randomBytes(16).toString('base64url')
  const until = Date.now() + LONGEST_LIFETIME
  const { position } = await store.revoke([{ kind: 'token', id, notBefore: Number.MAX_SAFE_INTEGER, until }])
  return position
}

function round(value, digits = 0) {
  return Number(value.toFixed(digits))
}
