// One application process: Fastify with the built package, a store and a replica of it. Started by tools/soak/index.js.
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import pg from 'pg'
import { TokenConfig, TokenManager } from 'tokenlib'
import { enforce, handleErrors } from 'tokenlib/fastify'
import { createPostgresStore } from 'tokenlib/postgres'
import { createRedisStore } from 'tokenlib/redis'
import { replicate } from 'tokenlib/replica'
import { ACCESS_SECONDS, BOUND_MS, GRACE_SECONDS, REFRESH_SECONDS, SAMPLE_INTERVAL_MS } from './options.js'
import { createSampler } from './sample.js'

const { kind, url, name, secret, verifiedCache } = JSON.parse(process.argv[2])
const events = {}

async function openStore() {
  const onError = (error) => process.send({ type: 'clientError', message: error.message })
  if (kind === 'redis') {
    const redis = new Redis(url, { connectionName: name })
    redis.on('error', onError)
    return { store: createRedisStore(redis), disconnect: async () => redis.disconnect() }
  }
  const pool = new pg.Pool({ connectionString: url, max: 5, application_name: name })
  pool.on('error', onError)
  const store = createPostgresStore(pool)
  await store.migrate()
  return { store, disconnect: () => pool.end() }
}

const { store: shared, disconnect } = await openStore()
const store = replicate(shared, { bound: `${BOUND_MS}ms` })
const config = new TokenConfig({
  JWT_SECRET_KEY: secret,
  JWT_ACCESS_TOKEN_EXPIRES: ACCESS_SECONDS,
  JWT_REFRESH_TOKEN_EXPIRES: REFRESH_SECONDS,
  JWT_REFRESH_GRACE: GRACE_SECONDS,
  JWT_VERIFIED_CACHE_SIZE: verifiedCache,
  // A stall of a machine that others use too is latency here, not an outage of the store.
  JWT_REVOCATION_TIMEOUT: '10s',
})
const tokens = new TokenManager({ config, store })
for (const event of ['replicaStale', 'replicaReset', 'storeLostData', 'storeUnavailable', 'reuseDetected']) {
  events[event] = 0
  tokens.on(event, () => void events[event]++)
}
await tokens.ready()

const app = Fastify()
app.setErrorHandler(handleErrors({ config }))
app.post('/login', ({ body, raw }) => tokens.sessions.open({ uid: body.uid }, { request: raw }))
app.post('/refresh', ({ raw }) => tokens.sessions.refresh(raw))
app.get('/check', { onRequest: enforce(tokens.accessTokenRequired) }, async ({ raw }) => {
  const { sub } = await tokens.accessTokenRequired(raw)
  return { sub }
})
app.post('/logout', async ({ raw }, reply) => {
  await tokens.logout(raw)
  return reply.code(204).send()
})
app.post('/revoke-token', async ({ raw }, reply) => {
  await tokens.revoke.token(await tokens.accessTokenRequired(raw))
  return reply.code(204).send()
})
// Routes of an administrator, who is on this machine.
app.post('/revoke-user', async ({ body }, reply) => {
  await tokens.revoke.user(body.uid)
  return reply.code(204).send()
})
app.get('/sessions/:uid', ({ params }) => tokens.sessions.list(params.uid))
const address = await app.listen({ port: 0, host: '127.0.0.1' })

const readSample = createSampler()
async function sendSample() {
  const { replica } = await tokens.health()
  if (!process.connected) return
  process.send({
    type: 'sample',
    ...readSample(),
    replica: { entries: replica.entries, ageMs: replica.ageMs, isFresh: replica.isFresh },
    events,
  })
}
const timer = setInterval(() => void sendSample(), SAMPLE_INTERVAL_MS)

// The command ends its processes itself when it is interrupted.
process.on('SIGINT', () => undefined)
async function end() {
  clearInterval(timer)
  // Whatever the servers do: this process must not outlive the command.
  setTimeout(() => process.exit(), 5000).unref()
  await app.close()
  await store.close()
  await disconnect()
}
process.on('disconnect', () => void end())
process.send({ type: 'ready', address })
