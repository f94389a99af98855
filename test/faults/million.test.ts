import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeWithOwnServer, describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { useWorkerProgram } from './harness/worker-program.js'
import { type MillionOutcome, runMillionInMemory, runMillionInRedis, runMillionInTables } from './million.js'

const LIMIT = 120_000
const TITLE = 'still refuses the first token it revoked, and is empty once all have ended'
// A million in `node tools/evidence/faults.js`.
const SIZES = { count: 20_000, batch: 1000, pruneLimit: 5000 }
const program = useWorkerProgram()

function hold(outcome: MillionOutcome): void {
  expect(outcome).toMatchObject({ firstRefused: 1, missing: 0, droppedAlive: 0, left: 0 })
  expect(outcome.dropped).toBeGreaterThanOrEqual(SIZES.count)
}

describe('a memory store with very many revocations', () => {
  test(TITLE, async () => hold(await runMillionInMemory(program(), SIZES)), LIMIT)
})

describe('a SQLite store with very many revocations', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-faults-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const place = { client: 'sqlite', url: join(folder, 'tokens.db') } as const
  test(TITLE, async () => hold(await runMillionInTables(place, SIZES)), LIMIT)
})

describeWithPostgres('a PostgreSQL store with very many revocations', (url) => {
  test(TITLE, async () => hold(await runMillionInTables({ client: 'pg', url }, SIZES)), LIMIT)
})

// Its own, because it counts all keys of the server.
describeWithOwnServer('redis', 'a Redis store with very many revocations', () => {
  let server: RunningServer
  beforeAll(async () => void (server = await startRedis()), LIMIT)
  afterAll(() => server.stop())
  test(TITLE, async () => hold(await runMillionInRedis({ client: 'ioredis', url: server.url }, SIZES)), LIMIT)
})
