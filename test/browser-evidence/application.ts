import { appendFileSync, readFileSync } from 'node:fs'
import express from 'express'
import { Redis } from 'ioredis'
import {
  enforce,
  handleErrors,
  implicitRefresh,
  inject,
  mount,
} from '../../packages/tokenlib/src/frameworks/express.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { TokenEventName } from '../../packages/tokenlib/src/kit.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createRedisStore } from '../../packages/tokenlib/src/stores/redis.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import type { ApplicationSettings, LogLine } from './open-site.js'
import { withRule } from './other-rules.js'
import { PAGE, PAGE_SCRIPT } from './page.js'

// A process of its own: it is killed and restarted, and reads its settings again each time.
const port = Number(process.argv[2])
const settings = JSON.parse(readFileSync('settings.json', 'utf8')) as ApplicationSettings

// The clock of this process and of a store in it: scenarios let hours pass.
const systemNow = Date.now
let aheadMs = 0
Date.now = () => systemNow() + aheadMs

const config = new TokenConfig({
  JWT_SECRET_KEY: Buffer.from(settings.key, 'base64url'),
  ...(settings.previousKey !== null && {
    JWT_PREVIOUS_SECRET_KEY: Buffer.from(settings.previousKey, 'base64url'),
  }),
  JWT_TOKEN_LOCATION: 'cookies',
  JWT_COOKIE_SECURE: false,
  JWT_ACCESS_TOKEN_EXPIRES: settings.accessSeconds,
  JWT_REFRESH_GRACE: settings.graceSeconds,
  // Two cores run a browser with 20 tabs next to this process.
  JWT_REVOCATION_TIMEOUT: '1s',
})
const tokens = new TokenManager({ config, store: await openStore() })
await tokens.ready()

/** Before the answer is sent, so that nothing is missing after a kill. */
function log(line: LogLine): void {
  appendFileSync('log.jsonl', `${JSON.stringify(line)}\n`)
}

const EVENTS: readonly TokenEventName[] = ['loggedIn', 'loggedOut', 'refreshed', 'reuseDetected']
for (const name of EVENTS) tokens.on(name, (event) => log({ at: Date.now(), event: name, ...event }))

// After the store's step, and before the response.
let refreshesLeft = settings.diesAtRefresh ?? Number.POSITIVE_INFINITY
tokens.on('refreshed', () => {
  if (--refreshesLeft === 0) process.kill(process.pid, 'SIGKILL')
})

const routes = createSessionRoutes(tokens, {
  logIn: async ({ name, password }) =>
    typeof name === 'string' && password === 'correct' ? { uid: name } : null,
})

const app = express()
app.use((req, res, next) => {
  const { method, path } = req
  const end = res.end.bind(res)
  res.end = ((...given: []) => {
    log({ at: Date.now(), method, path, status: res.statusCode, origin: req.get('origin') ?? null })
    return end(...given)
  }) as typeof res.end
  next()
})
app.get('/', (_, res) => void res.type('html').send(PAGE))
app.get('/page.js', (_, res) => void res.type('js').send(PAGE_SCRIPT))
app.use('/package', express.static(settings.package))
app.use(mount(routes))
app.get('/api/me', enforce(tokens.accessTokenRequired), (_, res) => void res.json({ ok: true }))
app.post('/api/notes', enforce(tokens.accessTokenRequired), (_, res) => void res.json({ ok: true }))
app.get(
  '/account',
  implicitRefresh(tokens),
  inject({ user: tokens.accessTokenOptional }, ({ user }, _req, res) => {
    res.send(`<!doctype html><title>${user === null ? 'logged out' : 'logged in'}</title>`)
  }),
)
app.post('/control/clock', (req, res) => {
  aheadMs += Number(req.query['advanceMs'])
  res.sendStatus(204)
})
app.use(handleErrors())
app.listen(port, '127.0.0.1', () => console.log('ready to accept connections'))

async function openStore(): Promise<RevocationStore> {
  if (settings.redis !== null) {
    const redis = new Redis(settings.redis)
    redis.on('error', () => undefined)
    return createRedisStore(redis, { namespace: 'evidence' })
  }
  if (settings.rule !== null) return withRule(createMemoryStore(), settings.rule)
  const { DatabaseSync } = await import('@photostructure/sqlite')
  return createSqliteStore(new DatabaseSync('sessions.sqlite'))
}
