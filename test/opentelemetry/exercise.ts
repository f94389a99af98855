import { Hono } from 'hono'
import { enforce, handleErrors } from '../../packages/tokenlib/src/frameworks/hono.js'
import { type RevocationStore, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { IssuerOptions } from '../../packages/issuers/src/index.js'
import { instrument, type InstrumentOptions } from '../../packages/tokenlib/src/opentelemetry.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createForeign } from '../helpers/foreign.js'
import { PATIENT, SECRET } from '../helpers/manager.js'
import { outcomeOf, toPair } from '../helpers/revocable.js'

/** Of a user and a client, to be looked for in what is exported. */
export const PERSONAL = { uid: 'ada-lovelace-1815', ip: '198.51.100.77', userAgent: 'AnalyticalEngine/1.0' }

/** Uses everything of a manager that has a metric; returns the tokens and ids that must not be exported. */
export async function exercise(options: InstrumentOptions): Promise<readonly string[]> {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_REFRESH_GRACE: 0, ...PATIENT })
  const memory = createMemoryStore()
  const sessions = memory.sessions as NonNullable<RevocationStore['sessions']>
  const store = replicate({
    ...memory,
    async prepare(needs) {
      needs.onLostData?.({ revokedBefore: 0 })
      return memory.prepare(needs)
    },
    // The text of a driver may have anything in it.
    sessions: {
      ...sessions,
      list: () => Promise.reject(Object.assign(new Error(PERSONAL.ip), { code: 'ECONNREFUSED' })),
    },
  })
  const [good, bad] = [createForeign('https://good.example'), createForeign('https://bad.example')]
  const tokens = new TokenManager({
    config,
    store,
    issuers: [
      good.trust({ keys: fetchedBy(async () => Response.json({ keys: [good.jwk] })), subjectPrefix: 'g:' }),
      bad.trust({ keys: fetchedBy(() => Promise.reject(new Error(PERSONAL.ip))), subjectPrefix: 'b:' }),
    ],
  })
  const stop = instrument(tokens, options)
  const { uid, ...client } = PERSONAL
  const first = await tokens.sessions.open({ uid }, client)
  await outcomeOf(tokens.sessions.open({ uid }, { maxSessions: 1, whenFull: 'refuse' }))
  for (const reason of ['credentials', 'user', 'rateLimit', 'sessionLimit', 'response'] as const)
    tokens.sessions.reportFailedLogin({ reason, user: uid, ...client })
  const app = new Hono()
  app.onError(handleErrors())
  app.get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ok'))
  const get = (token: string) => app.request('/', { headers: { authorization: `Bearer ${token}` } })
  for (let at = 0; at < 4; at++) await get(first.accessToken)
  await get(`${first.accessToken}forged`)
  await tokens.accessTokenOptional(new Request('http://localhost'))
  const refreshed = toPair(await tokens.sessions.refresh(first.refreshToken, client))
  await tokens.sessions.refresh(first.refreshToken, { ip: '203.0.113.9' })
  await tokens.sessions.refresh(refreshed.refreshToken, client)
  await outcomeOf(tokens.sessions.refresh(first.refreshToken, client))
  const second = await tokens.sessions.open({ uid }, client)
  await tokens.logout(await tokens.verify(second.accessToken))
  await outcomeOf(tokens.sessions.list(uid))
  const iat = Math.floor(Date.now() / 1000)
  const foreign = [good, bad].map((issuer) => issuer.sign({ iat, exp: iat + 600 }))
  for (const token of foreign) await outcomeOf(tokens.verify(token))
  await store.replica?.ready()
  const pairs = [first, refreshed, second].flatMap(({ accessToken, refreshToken }) => [
    accessToken,
    refreshToken,
  ])
  stopAll.push(() => (stop(), store.close()))
  return [...pairs, ...foreign]
}

const stopAll: (() => unknown)[] = []

/** Ends what `exercise` has started. */
export async function endExercise(): Promise<void> {
  for (const stop of stopAll.splice(0)) await stop()
}

function fetchedBy(fetch: () => Promise<Response>): NonNullable<IssuerOptions['keys']> {
  return { jwksUri: 'https://keys.example/jwks', fetch, allowPrivateNetwork: true }
}
