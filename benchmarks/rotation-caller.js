// The process of one build, for rotation-cost.js.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DatabaseSync } from '@photostructure/sqlite'
import { Redis } from 'ioredis'
import pg from 'pg'
import { readCpu, serveParent } from './child.js'

const SESSIONS = 400
// As many at a time as a server with as many connections has.
const AT_ONCE = 16
const HOUR = 3_600_000
const CLIENT = {
  ip: '192.0.2.1',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
}
const PATIENT_MS = 300_000

const OUTCOMES = { advance: 'advanced', repeat: 'repeated', keep: 'kept' }

serveParent(async ({ name, kind, folder, url }) => {
  const load = (path) => import(pathToFileURL(join(folder, 'packages/tokenlib/dist', path)).href)
  const { store, readServerCpu } = await OPEN[kind](await load(`${kind}.js`), { name, url })
  const library = await load('index.js')
  const levels = {
    refresh: await createManagerCalls(library, store),
    store: createStoreCalls(store),
  }

  const time = async (items, call) => {
    const [serverBefore, cpuBefore] = [await readServerCpu?.(), readCpu()]
    const results = []
    for (let at = 0; at < items.length; at += AT_ONCE) {
      results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(call))))
    }
    const cpu = (readCpu() - cpuBefore) / items.length
    return { results, cpu, server: readServerCpu && ((await readServerCpu()) - serverBefore) / items.length }
  }

  return {
    ready: true,
    async answer() {
      const costs = {}
      const note = (title, { cpu, server, results }) => {
        costs[title] = cpu
        if (server !== undefined) costs[`${title}, ${kind}`] = server
        return results
      }
      for (const [level, calls] of Object.entries(levels)) {
        const users = Array.from({ length: SESSIONS }, () => randomBytes(6).toString('hex'))
        const sessions = note(`${level}: log in`, await time(users, calls.open))
        for (const session of sessions) calls.prepare?.(session)
        for (const step of Object.keys(OUTCOMES)) note(`${level}: ${step}`, await time(sessions, calls[step]))
      }
      return costs
    },
  }
})

async function createManagerCalls({ TokenConfig, TokenManager }, store) {
  const secret = randomBytes(32)
  const create = async (JWT_REFRESH_GRACE) => {
    const config = new TokenConfig({
      JWT_SECRET_KEY: secret,
      JWT_REFRESH_GRACE,
      JWT_REVOCATION_TIMEOUT: '60s',
    })
    const tokens = new TokenManager({ config, store })
    await tokens.ready()
    return tokens
  }
  const [eager, patient] = [await create(0), await create(PATIENT_MS / 1000)]
  return {
    open: async (uid) => ({ newest: (await eager.sessions.open({ uid }, CLIENT)).refreshToken }),
    async advance(session) {
      const { refreshToken } = await eager.sessions.refresh(session.newest, CLIENT)
      Object.assign(session, { used: session.newest, newest: refreshToken })
    },
    repeat: ({ used }) => patient.sessions.refresh(used, CLIENT),
    keep: ({ newest }) => patient.sessions.refresh(newest, CLIENT),
  }
}

function createStoreCalls({ sessions }) {
  const createId = () => randomBytes(16).toString('base64url')
  const rotate = async (step, sid, token, graceMs) => {
    const rules = { graceMs, idleMs: Number.MAX_SAFE_INTEGER, ...CLIENT }
    const { outcome } = await sessions.rotate(sid, token, rules)
    if (outcome !== OUTCOMES[step]) throw new Error(`${step} was answered with "${outcome}"`)
  }
  return {
    open(user) {
      const expiresAt = Date.now() + HOUR
      const nonce = randomBytes(10).toString('base64url')
      return sessions.open({ user, nonce, expiresAt, until: expiresAt, ...CLIENT })
    },
    // What a manager reads from a token; not measured.
    prepare(session) {
      const issuedAt = Date.now()
      const used = { id: createId(), parent: '', generation: 1, issuedAt }
      const newest = { id: createId(), parent: used.id, generation: 2, issuedAt }
      Object.assign(session, { used, newest })
    },
    advance: ({ sid, used }) => rotate('advance', sid, used, 0),
    repeat: ({ sid, used }) => rotate('repeat', sid, used, PATIENT_MS),
    keep: ({ sid, newest }) => rotate('keep', sid, newest, PATIENT_MS),
  }
}

// Each opens a store, and says how the CPU time of its server is read, in microseconds.
const OPEN = {
  memory: async ({ createMemoryStore }) => ({ store: createMemoryStore({ allowInProduction: true }) }),
  async sqlite({ createSqliteStore }) {
    const folder = mkdtempSync(join(tmpdir(), 'tokenlib-rotation-'))
    process.on('exit', () => rmSync(folder, { recursive: true }))
    return { store: createSqliteStore(new DatabaseSync(join(folder, 'tokens.db'))) }
  },
  async redis({ createRedisStore }, { name, url }) {
    const store = createRedisStore(new Redis(url), { namespace: name, allowVolatile: true })
    const observer = new Redis(url)
    const readServerCpu = async () => {
      const text = await observer.info('cpu')
      const read = (field) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(text)[1])
      return (read('used_cpu_user') + read('used_cpu_sys')) * 1e6
    }
    return { store, readServerCpu }
  },
  async postgres({ createPostgresStore }, { name, url }) {
    // One connection, so that one process of the server does all the work.
    const pool = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 })
    const store = createPostgresStore(pool, { prefix: `${name}_` })
    await store.migrate()
    if (process.platform !== 'linux') return { store }
    const { rows } = await pool.query('select pg_backend_pid() as pid')
    // Fields 14 and 15 of proc(5), in hundredths of a second; the second field may contain spaces.
    const readServerCpu = async () => {
      const fields = readFileSync(`/proc/${rows[0].pid}/stat`, 'utf8').split(') ')[1].split(' ')
      return (Number(fields[11]) + Number(fields[12])) * 10_000
    }
    return { store, readServerCpu }
  },
}
