import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { describeWithPostgres, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import type { Place } from './harness/place.js'
import { useWorkerProgram } from './harness/worker-program.js'
import { runKillApplication } from './kill-application.js'

const LIMIT = 240_000
// Fifty in `node tools/evidence/faults.js`, as everything here is larger there.
const KILLS = 5
const TITLE = 'has lost no logout that it acknowledged, and left none half done'
const program = useWorkerProgram()

async function kill(place: Place, kills: number): Promise<void> {
  const outcome = await runKillApplication(program(), place, { kills, seed: 1 })
  expect(outcome).toMatchObject({ kills, lost: 0, refreshed: 0, halfRevoked: 0, acceptedByFresh: 0 })
  expect(outcome.acknowledged).toBeGreaterThanOrEqual(kills / 2)
}

describeWithRedis('an application on Redis that is killed with -9', (url) => {
  test(TITLE, () => kill({ client: 'ioredis', url }, KILLS), LIMIT)
})

describeWithPostgres('an application on PostgreSQL that is killed with -9', (url) => {
  test(TITLE, () => kill({ client: 'pg', url }, KILLS), LIMIT)
})

describe('an application on SQLite that is killed with -9', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-faults-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  test(TITLE, () => kill({ client: 'sqlite', url: join(folder, 'tokens.db') }, KILLS), LIMIT)
})
