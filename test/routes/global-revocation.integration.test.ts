import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { bundleWorker, type WorkerProgram } from '../faults/harness/bundle-worker.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeWithPostgres, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { createProvider } from './provider.js'

const API = 'https://api.example'
const PROCESSES = 4
const ROUNDS = 15

function describeRace(kind: string, url: string, createStore: (namespace: string) => RevocationStore): void {
  let program: WorkerProgram
  beforeAll(async () => {
    program = await bundleWorker('test/routes/global-revocation/process.ts')
  })
  afterAll(() => program.remove())

  test.each([kind, `${kind} replica`])(
    'one JWT signs out one user, however many processes get it at once for others: %s',
    { timeout: 60_000 },
    async (each) => {
      const provider = createProvider('https://id.example')
      const namespace = `race${randomUUID().slice(0, 8)}`
      const now = Math.floor(Date.now() / 1000)
      const tokens = new TokenManager({
        config: new TokenConfig({ JWT_REVOCATION_TIMEOUT: '20s' }),
        store: createStore(namespace),
        issuers: [
          trustIssuer({
            issuer: provider.issuer,
            audience: API,
            keys: { keys: [provider.jwk] },
            subjectPrefix: 'id:',
          }),
        ],
      })
      await tokens.ready()
      const given = [each, url, namespace, provider.issuer, JSON.stringify(provider.jwk)]
      const children = Array.from({ length: PROCESSES }, () => fork(program.path, given, { execArgv: [] }))
      onTestFinished(() => children.forEach((child) => child.kill('SIGKILL')))
      await Promise.all(children.map((child) => once(child, 'message')))
      const sendAtOnce = async (jwt: string, toSub: (at: number) => string): Promise<unknown[]> => {
        const answers = children.map((child) => once(child, 'message'))
        for (const [at, child] of children.entries()) child.send({ jwt, sub: toSub(at) })
        return (await Promise.all(answers)).map(([answer]: unknown[]) => answer)
      }

      for (let round = 0; round < ROUNDS; round++) {
        const toSub = (at: number): string => `user ${round} ${at}`
        const toToken = (at: number): string =>
          provider.sign({ aud: API, sub: toSub(at), iat: now - 60, exp: now + 600 }, { typ: 'at+jwt' })
        const jwt = provider.sign(
          { aud: `${API}/global-token-revocation`, jti: `jwt ${round}`, iat: now, exp: now + 300 },
          { typ: 'global-token-revocation+jwt' },
        )
        const statuses = await sendAtOnce(jwt, toSub)
        expect(statuses.toSorted()).toEqual([204, 401, 401, 401])
        const outcomes = await Promise.all(children.map((_, at) => outcomeOf(tokens.verify(toToken(at)))))
        expect(outcomes).toEqual(statuses.map((status) => (status === 204 ? 'TOKEN_REVOKED' : 'ok')))
        // The sender may repeat it, in any process.
        const first = statuses.indexOf(204)
        expect(await sendAtOnce(jwt, () => toSub(first))).toEqual([204, 204, 204, 204])
      }
    },
  )
}

describeWithRedis('Global Token Revocation on Redis', (url) => {
  describeRace('redis', url, (namespace) => {
    const redis = new Redis(url)
    onTestFinished(async () => void (await redis.quit()))
    return createRedisStore(redis, { namespace })
  })
})

describeWithPostgres('Global Token Revocation on PostgreSQL', (url) => {
  beforeAll(async () => {
    const pool = new pg.Pool({ connectionString: url })
    await createPostgresStore(pool).migrate()
    await pool.end()
  })
  describeRace('postgres', url, (namespace) => {
    const pool = new pg.Pool({ connectionString: url })
    onTestFinished(() => pool.end())
    return createPostgresStore(pool, { namespace })
  })
})
