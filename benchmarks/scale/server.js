import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { Redis } from 'ioredis'
import pg from 'pg'
import { importTypeScript } from '../../tools/shared/import-typescript.js'

const HELPERS = 'test/helpers/servers'
const { startRedis } = await importTypeScript(`${HELPERS}/start-redis.ts`)
const { startPostgres } = await importTypeScript(`${HELPERS}/start-postgres.ts`)
const { startNats } = await importTypeScript(`${HELPERS}/start-nats.ts`)
const { descendantsOf } = await importTypeScript(`${HELPERS}/process-tree.ts`)

/**
 * @typedef {object} MeasuredServer
 * @property {import('../replica/stores.js').StorePlace} place
 * @property {string} version
 * @property {() => number} readCpu The CPU time of all its processes so far, in microseconds; Linux counts hundredths
 *   of a second.
 * @property {() => Promise<{ sessions: number, entries: number, server: number }>} readMemory Bytes of the data, and of
 *   the processes. Redis tells only the sum of both.
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a private server, as durable as the tests start theirs.
 *
 * @param {'redis' | 'postgres' | 'nats'} kind
 * @returns {Promise<MeasuredServer>}
 */
export async function startMeasuredServer(kind) {
  // A rewrite of the append-only file would be in some figures, and not in others.
  const start = {
    redis: () => startRedis({ 'auto-aof-rewrite-percentage': '0' }),
    postgres: () => startPostgres({ max_connections: '400' }),
    nats: startNats,
  }
  const observe = { redis: observeRedis, postgres: observePostgres, nats: observeNats }
  const server = await start[kind]()
  const { close, ...observed } = await observe[kind](server)
  return {
    place: { kind, url: server.url },
    ...observed,
    readCpu: () => [server.pid, ...descendantsOf(server.pid)].map(readProcessCpu).reduce((a, b) => a + b),
    async stop() {
      await close()
      await server.stop()
    },
  }
}

async function observePostgres({ url, pid }) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const ask = async (sql) => Object.values((await client.query(sql)).rows[0])[0]
  const sizeOf = async (table) =>
    Number(await ask(`select pg_total_relation_size('public.tokenlib_${table}')`))
  return {
    version: `PostgreSQL ${(await ask('show server_version')).split(' ')[0]}`,
    readMemory: async () => ({
      sessions: await sizeOf('sessions'),
      entries: await sizeOf('revocations'),
      server: descendantsOf(pid)
        .map(readPrivateMemory)
        .reduce((a, b) => a + b),
    }),
    close: () => client.end(),
  }
}

async function observeNats({ pid, folder }) {
  return {
    version: `NATS ${/Version: +(\S+)/.exec(readFileSync(`${folder}/server.log`, 'utf8'))?.[1]}`,
    readMemory: async () => ({ sessions: 0, entries: 0, server: readPrivateMemory(pid) }),
    close: async () => {},
  }
}

async function observeRedis({ url }) {
  const client = new Redis(url)
  const read = async (section, name) =>
    new RegExp(`^${name}:(.+?)\r?$`, 'm').exec(await client.info(section))?.[1]
  return {
    version: `Redis ${await read('server', 'redis_version')}`,
    async readMemory() {
      const used = Number(await read('memory', 'used_memory'))
      return { sessions: used, entries: used, server: used }
    },
    close: async () => client.disconnect(),
  }
}

// With that of its children that have ended.
function readProcessCpu(pid) {
  const text = readProc(pid, 'stat')
  const ticks = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15)
  return ticks.reduce((sum, tick) => sum + Number(tick), 0) * TICK
}

const TICK = 10_000

// What a process shares with no other.
function readPrivateMemory(pid) {
  const sizes = readProc(pid, 'smaps_rollup').matchAll(/^Private_\w+: +(\d+) kB/gm)
  return Array.from(sizes, ([, size]) => Number(size) * 1024).reduce((a, b) => a + b, 0)
}

// A process may end before it is read.
function readProc(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

/**
 * A proxy in front of a server that counts bytes, without the headers of TCP and IP.
 *
 * @param {import('../replica/stores.js').StorePlace} place
 */
export async function startCountingProxy({ kind, url }) {
  const counts = { received: 0, sent: 0 }
  const target = new URL(url)
  const sockets = new Set()
  const proxy = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    near.on('data', ({ length }) => (counts.received += length)).pipe(far)
    far.on('data', ({ length }) => (counts.sent += length)).pipe(near)
  })
  await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const proxied = new URL(url)
  proxied.port = String(proxy.address().port)
  return {
    place: { kind, url: proxied.href },
    /** What the server has received and sent so far. */
    read: () => ({ ...counts }),
    stop() {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}
