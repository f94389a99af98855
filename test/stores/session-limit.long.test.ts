import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Redis } from 'ioredis'
import pg from 'pg'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import type { LimitedOpening, SessionLimit } from '../../packages/tokenlib/src/revocation/session-store.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { describeWithPostgres, describeWithRedis } from '../helpers/servers/describe-with-servers.js'

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** Bundles the program of the processes, inside of the repository, so that the packages it imports are found. */
async function bundle(folder: string): Promise<string> {
  const outfile = join(folder, 'child.mjs')
  const stores = ['postgres', 'redis'].map((name) => [
    `tokenlib/${name}`,
    file(`../../packages/tokenlib/src/stores/${name}.ts`),
  ])
  await build({
    entryPoints: [file('session-limit-child.ts')],
    alias: Object.fromEntries(stores) as Record<string, string>,
    packages: 'external',
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return outfile
}

async function receive(child: ChildProcess): Promise<readonly LimitedOpening[]> {
  const gone = once(child, 'exit').then(() => Promise.reject(new Error('The process ended')))
  const [reply] = (await Promise.race([once(child, 'message'), gone])) as [
    { readonly answers?: readonly LimitedOpening[]; readonly error?: string },
  ]
  if (reply.answers === undefined) throw new Error(reply.error)
  return reply.answers
}

/** Two processes that open sessions of one user at the same time. */
function twoProcesses(
  kind: 'redis' | 'postgres',
  url: string,
  createStore: (name: string) => RevocationStore,
) {
  let folder: string
  let program: string
  beforeAll(async () => {
    mkdirSync(file('../../build'), { recursive: true })
    folder = mkdtempSync(file('../../build/limit-'))
    program = await bundle(folder)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const openAtOnce = async (limit: SessionLimit) => {
    const namespace = `limit${randomUUID().slice(0, 8)}`
    const store = createStore(namespace)
    await store.prepare({ longestLifetime: 3_600_000 })
    const children = [1, 2].map(() => fork(program, [kind, url, namespace], { execArgv: [] }))
    onTestFinished(() => children.forEach((child) => child.kill('SIGKILL')))
    await Promise.all(children.map(receive))
    const replies = Promise.all(children.map(receive))
    for (const child of children) child.send({ count: 20, limit })
    const answers = (await replies).flat()
    const page = { limit: 1000, before: null, idleMs: FOREVER }
    const live = (await store.sessions?.list('ada', page))?.map(({ sid }) => sid) ?? []
    return { answers, live: live.toSorted() }
  }

  test('leave as many sessions as the limit allows, and each is ended once', async () => {
    const { answers, live } = await openAtOnce({ max: 3, whenFull: 'endOldest', idleMs: FOREVER })
    const opened = answers.flatMap((answer) => (answer.outcome === 'opened' ? [answer.sid] : []))
    const ended = answers.flatMap((answer) => (answer.outcome === 'full' ? [] : answer.ended))
    expect([opened.length, ended.length, new Set(ended).size]).toEqual([40, 37, 37])
    expect(live).toEqual(opened.filter((sid) => !ended.includes(sid)).toSorted())
  })

  test('are refused when the limit is reached', async () => {
    const { answers, live } = await openAtOnce({ max: 3, whenFull: 'refuse', idleMs: FOREVER })
    const opened = answers.flatMap((answer) => (answer.outcome === 'opened' ? [answer.sid] : []))
    expect(answers.filter(({ outcome }) => outcome === 'full')).toHaveLength(37)
    expect(live).toHaveLength(3)
    expect(live).toEqual(opened.toSorted())
  })
}

describeWithRedis('two processes that log a user in on Redis', (url) => {
  const client = new Redis(url)
  afterAll(() => client.disconnect())
  twoProcesses('redis', url, (namespace) => createRedisStore(client, { namespace }))
})

describeWithPostgres('two processes that log a user in on PostgreSQL', (url) => {
  const pool = new pg.Pool({ connectionString: url })
  beforeAll(() => createPostgresStore(pool).migrate())
  afterAll(() => pool.end())
  twoProcesses('postgres', url, (namespace) => createPostgresStore(pool, { namespace }))
})
