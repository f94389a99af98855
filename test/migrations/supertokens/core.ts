import { createHash, randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type RunningServer, serveFetch } from '../../../examples/server.js'

/**
 * The part of the SuperTokens core that sessions need, in memory: the real one is a Java server. Its interface (CDI 5.4)
 * and the claims and the header of its tokens are those that `supertokens-node` sends and verifies.
 */
export async function startCore(): Promise<RunningServer & Core> {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  // "d-" marks the dynamic keys, which the core rotates.
  const jwk = { ...(await exportJWK(publicKey)), kid: 'd-1700000000000', alg: 'RS256', use: 'sig' }
  const sessions = new Map<string, Session>()
  const refreshTokens = new Map<string, string>()

  const issue = async (session: Session, validity = 3600) => {
    const refreshToken = randomUUID() + randomUUID()
    refreshTokens.set(refreshToken, session.handle)
    const now = Math.floor(Date.now() / 1000)
    const refreshTokenHash1 = createHash('sha256').update(refreshToken).digest('hex')
    const accessToken = await new SignJWT({
      ...session.userDataInJWT,
      iat: now,
      exp: now + validity,
      sub: session.userId,
      tId: 'public',
      rsub: session.userId,
      sessionHandle: session.handle,
      refreshTokenHash1,
      parentRefreshTokenHash1: null,
      antiCsrfToken: null,
    })
      .setProtectedHeader({ kid: jwk.kid, typ: 'JWT', version: '5', alg: 'RS256' })
      .sign(privateKey)
    const createdTime = now * 1000
    return {
      status: 'OK',
      session: { ...session, recipeUserId: session.userId, tenantId: 'public' },
      accessToken: { token: accessToken, createdTime, expiry: (now + validity) * 1000 },
      refreshToken: { token: refreshToken, createdTime, expiry: createdTime + 100 * 86_400_000 },
    }
  }

  const app = new Hono()
  app.get('/apiversion', (c) => c.json({ versions: ['5.4'] }))
  app.get('/.well-known/jwks.json', (c) => c.json({ keys: [jwk] }))
  app.get('/user/id', (c) => c.json({ status: 'UNKNOWN_USER_ID_ERROR' }))
  app.post('/public/recipe/session', async (c) => {
    const { userId, userDataInJWT } = await c.req.json<Session>()
    const session = { handle: randomUUID(), userId, userDataInJWT }
    sessions.set(session.handle, session)
    return c.json(await issue(session))
  })
  app.post('/recipe/session/verify', async (c) => {
    const { accessToken } = await c.req.json<{ accessToken: string }>()
    const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as Claims
    const session = sessions.get(claims.sessionHandle)
    if (session === undefined) return c.json({ status: 'UNAUTHORISED', message: 'Session does not exist' })
    return c.json({ status: 'OK', session: { ...session, recipeUserId: session.userId, tenantId: 'public' } })
  })
  app.post('/recipe/session/refresh', async (c) => {
    const { refreshToken } = await c.req.json<{ refreshToken: string }>()
    const session = sessions.get(refreshTokens.get(refreshToken) ?? '')
    // The real core rotates: the token before stays valid until its successor is used, which nobody here does.
    return c.json(
      session ? await issue(session) : { status: 'UNAUTHORISED', message: 'Session does not exist' },
    )
  })
  const server = await serveFetch(app.fetch, 0)
  return {
    ...server,
    endSessions: () => sessions.clear(),
    issueExpired: async (handle) => (await issue(sessions.get(handle) as Session, -60)).accessToken.token,
  }
}

interface Session {
  readonly handle: string
  readonly userId: string
  readonly userDataInJWT: object
}

interface Claims {
  readonly sessionHandle: string
}

/** What tests do with the core. */
export interface Core {
  readonly endSessions: () => void
  readonly issueExpired: (handle: string) => Promise<string>
}
