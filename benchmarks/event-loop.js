// For how long calls about a user with many sessions keep a process, and its server, from everything else.
// npm run build && node benchmarks/event-loop.js [--sessions 60000] [memory] [sqlite] [redis] [postgres]
import { DatabaseSync } from '@photostructure/sqlite'
import { Redis } from 'ioredis'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createMemoryStore } from 'tokenlib/memory'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { createSqliteStore } from 'tokenlib/sqlite'
import { describeRows } from './figures.js'
import { startServer } from './replica/stores.js'

const KINDS = ['memory', 'sqlite', 'redis', 'postgres']
const HOUR = 3_600_000
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sessions: { type: 'string', default: '60000' } },
})
const SESSIONS = Number(values.sessions)

/**
 * @typedef {object} Place Where stores are made, one for each measurement.
 * @property {(clock?: () => number) => Promise<import('tokenlib').RevocationStore>} open
 * @property {(() => Promise<unknown>) | null} probe A call of somebody else, who waits while the server is busy.
 * @property {() => Promise<unknown>} close
 */

/** @type {Record<string, () => Promise<Place>>} */
const PLACES = {
  memory: async () => ({
    open: async (clock) => createMemoryStore(clock === undefined ? {} : { clock }),
    probe: null,
    close: async () => undefined,
  }),
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokenlib-event-loop-'))
    const handles = []
    return {
      async open(clock) {
        const database = new DatabaseSync(join(folder, `${handles.length}.db`))
        handles.push(database)
        const store = createSqliteStore(database, clock === undefined ? {} : { clock })
        // Durable logins would take minutes; what is measured is durable again.
        return Object.assign(store, {
          beforeFilling: () => database.exec('PRAGMA synchronous = OFF'),
          afterFilling: () => database.exec('PRAGMA synchronous = FULL'),
        })
      },
      probe: null,
      async close() {
        for (const handle of handles) handle.close()
        rmSync(folder, { recursive: true })
      },
    }
  },
  redis: async () => {
    const server = await startServer('redis')
    const [client, other] = [new Redis(server.url), new Redis(server.url)]
    let count = 0
    return {
      open: async (clock) =>
        createRedisStore(client, {
          namespace: `n${++count}`,
          allowVolatile: true,
          ...(clock !== undefined && { clock }),
        }),
      probe: () => other.ping(),
      async close() {
        client.disconnect()
        other.disconnect()
        await server.stop()
      },
    }
  },
  postgres: async () => {
    const server = await startServer('postgres')
    const [pool, other] = [1, 2].map(() => new pg.Pool({ connectionString: server.url, max: 10 }))
    let count = 0
    let probed = null
    return {
      async open(clock) {
        const options = { namespace: `n${++count}`, ...(clock !== undefined && { clock }) }
        const store = createPostgresStore(pool, options)
        await store.migrate()
        probed = createPostgresStore(other, options)
        await probed.prepare({ longestLifetime: HOUR })
        return store
      },
      // A revocation of somebody else, who waits for the lock of the namespace.
      probe: () => probed.revoke([{ kind: 'token', id: 'probe', notBefore: 1, until: 1 }]),
      async close() {
        await Promise.all([pool.end(), other.end()])
        await server.stop()
      },
    }
  },
}

/** What is measured: the state before it, and the call. Each has a store of its own. */
const SCENARIOS = {
  'sessions.endOthers': { run: (tokens, { payload }) => tokens.sessions.endOthers(payload) },
  'revoke.user': { run: (tokens) => tokens.revoke.user('ada') },
  'revoke.user, sessions of a clock that was ahead': {
    clock: 'ahead',
    run: (tokens) => tokens.revoke.user('ada'),
  },
  'sessions.list, every page': {
    async run(tokens) {
      for (let before = null; ;) {
        const page = await tokens.sessions.list('ada', before === null ? {} : { before })
        await sleep(0) // as between two requests
        if (page.length < 1000) return
        before = page.at(-1).id
      }
    },
  },
  'sessions.list, all idle': { clock: 'idle', run: (tokens) => tokens.sessions.list('ada') },
  'login with a limit of 10': {
    run: (tokens) => tokens.sessions.open({ uid: 'ada' }, { maxSessions: 10 }),
  },
  'login with a limit of 10, all idle': {
    clock: 'idle',
    run: (tokens) => tokens.sessions.open({ uid: 'ada' }, { maxSessions: 10 }),
  },
  prune: { clock: 'over', run: (_, { store }) => store.prune(1_000_000) },
}

async function fill(store, until) {
  await store.prepare({ longestLifetime: HOUR })
  store.beforeFilling?.()
  let at = 0
  const worker = async () => {
    while (at < SESSIONS) {
      const nonce = `${String(at++).padStart(13, 'n')}A`
      await store.sessions.open({ user: 'ada', nonce, expiresAt: until, until, ip: null, userAgent: null })
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  store.afterFilling?.()
}

/** How long each probe took while `work` ran, in milliseconds. */
async function probeDuring(probe, work) {
  const waits = []
  const state = { isOver: false }
  const probing = (async () => {
    while (!state.isOver) {
      const startedAt = performance.now()
      await probe()
      waits.push(performance.now() - startedAt)
      await sleep(1)
    }
  })()
  await work
  state.isOver = true
  await probing
  return waits
}

/** The CPU time that this process used in each turn of its event loop, in milliseconds, until `stop` is called. */
function watchTurns() {
  const turns = []
  let isOver = false
  let before = process.cpuUsage()
  const look = () => {
    const used = process.cpuUsage(before)
    turns.push((used.user + used.system) / 1000)
    before = process.cpuUsage()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  return () => {
    isOver = true
    return turns
  }
}

async function measure(kind, place, name, { clock: state, run }) {
  let offset = state === 'ahead' ? 3 * HOUR : 0
  const store = await place.open(state === undefined ? undefined : () => Date.now() + offset)
  await fill(store, state === 'over' ? Date.now() + HOUR : Number.MAX_SAFE_INTEGER)
  offset = { ahead: 0, idle: 60 * 24 * HOUR, over: 2 * HOUR }[state] ?? 0
  const config = new TokenConfig({
    JWT_SECRET_KEY: 'event-loop-'.repeat(4) + 'k7Qw2',
    JWT_REFRESH_IDLE_EXPIRES: '7d',
    JWT_REVOCATION_TIMEOUT: '60s',
  })
  const tokens = new TokenManager({ config, store })
  await tokens.ready()
  const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
  const payload = await tokens.verify(accessToken)
  await sleep(50)
  globalThis.gc?.()

  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  await sleep(20)
  delays.reset()
  // The first tick after it only begins to count.
  await sleep(20)
  const stop = watchTurns()
  const startedAt = performance.now()
  const work = Promise.resolve(run(tokens, { payload, store })).then(() => performance.now() - startedAt)
  const waits = place.probe === null ? [] : await probeDuring(place.probe, work)
  const took = await work
  await sleep(5)
  const turns = stop()
  delays.disable()
  await store.close()
  waits.sort((one, other) => one - other)
  return {
    store: kind,
    call: name,
    'took, ms': took,
    'event loop, median ms': delays.percentile(50) / 1e6,
    'event loop, most ms': delays.max / 1e6,
    // On a busy machine, the delays above include the time of other programs.
    'CPU in a turn, most ms': turns.reduce((most, turn) => Math.max(most, turn), 0),
    'others wait, median ms': waits[Math.floor(waits.length / 2)] ?? '',
    'others wait, most ms': waits.at(-1) ?? '',
  }
}

const rows = []
for (const kind of positionals.length === 0 ? KINDS : positionals) {
  if (!KINDS.includes(kind)) throw new TypeError(`Unknown store "${kind}": ${KINDS.join(', ')}`)
  const place = await PLACES[kind]()
  try {
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      const row = await measure(kind, place, name, scenario)
      rows.push(row)
      console.error(JSON.stringify(row))
    }
  } finally {
    await place.close()
  }
}
console.log(describeRows(rows))
