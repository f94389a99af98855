import { createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { exportJWK, type JWK, SignJWT } from 'jose'
import { type RunningServer, serveFetch } from '../../../examples/server.js'
import { createKeyPair } from '../../helpers/keys.js'
import { checkPassword } from '../shared/users.js'

/** The secret of a project from before signing keys: HS256. */
export const JWT_SECRET = 'zQ6nVt4wKx9rBm2yHs7cJd1gPf8eLa3uYk5o'

/** Supabase's ids are UUIDs. */
export const IDS = {
  ada: '7f9f5c46-0000-4000-8000-000000000007',
  grace: '7f9f5c46-0000-4000-8000-000000000008',
} as const

export type SigningKey = 'HS256' | 'ES256'

/** What tests and the new application do with Supabase Auth. */
export interface Gotrue extends RunningServer {
  /** The `iss` of its tokens. */
  readonly issuer: string
  /** The `kid` in the header of its tokens. */
  readonly kid: string
  readonly publicJwk: JWK
  readonly sign: (claims: object, key?: KeyObject) => Promise<string>
  /** In a real project: `delete from auth.sessions where user_id = $1`. */
  readonly deleteSessions: (userId: string) => Promise<void>
  readonly countSessions: () => number
}

/**
 * The part of Supabase Auth that the client needs, in memory: the real one is written in Go. Paths, bodies and claims are
 * those of its documentation, and `@supabase/auth-js` is the client.
 */
export async function startGotrue(algorithm: SigningKey): Promise<Gotrue> {
  const { privateKey, publicKey } = createKeyPair('ES256')
  const kid = randomUUID()
  const publicJwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }
  const ownKey = algorithm === 'ES256' ? privateKey : createSecretKey(Buffer.from(JWT_SECRET))
  const sessions = new Map<string, { readonly userId: string; refreshToken: string }>()
  const app = new Hono().basePath('/auth/v1')
  const server = await serveFetch(app.fetch, 0)
  const issuer = `${server.url}/auth/v1`

  const sign = (claims: object, key: KeyObject = ownKey): Promise<string> => {
    const header = { alg: key.type === 'secret' ? 'HS256' : algorithm, kid, typ: 'JWT' }
    return new SignJWT({ ...claims }).setProtectedHeader(header).sign(key)
  }
  const issue = async (sessionId: string) => {
    const session = sessions.get(sessionId) as { readonly userId: string; refreshToken: string }
    session.refreshToken = randomBytes(9).toString('base64url')
    const now = Math.floor(Date.now() / 1000)
    const user = {
      id: session.userId,
      aud: 'authenticated',
      role: 'authenticated',
      app_metadata: {},
      user_metadata: {},
    }
    const accessToken = await sign({
      iss: issuer,
      sub: session.userId,
      aud: 'authenticated',
      exp: now + 3600,
      iat: now,
      role: 'authenticated',
      aal: 'aal1',
      amr: [{ method: 'password', timestamp: now }],
      session_id: sessionId,
      email: '',
      phone: '',
      app_metadata: { provider: 'email', providers: ['email'] },
      user_metadata: {},
      is_anonymous: false,
    })
    const expiry = { expires_in: 3600, expires_at: now + 3600 }
    return {
      access_token: accessToken,
      token_type: 'bearer',
      ...expiry,
      refresh_token: session.refreshToken,
      user,
    }
  }

  app.post('/token', async (c) => {
    const body = await c.req.json<Record<string, string>>()
    if (c.req.query('grant_type') === 'password') {
      const name = (body['email'] ?? '').split('@')[0]
      if (checkPassword(name, body['password']) === null)
        return c.json({ error_code: 'invalid_credentials' }, 400)
      const sessionId = randomUUID()
      sessions.set(sessionId, { userId: IDS[name as keyof typeof IDS], refreshToken: '' })
      return c.json(await issue(sessionId))
    }
    const found = [...sessions].find(([, { refreshToken }]) => refreshToken === body['refresh_token'])
    if (found === undefined)
      return c.json({ error_code: 'refresh_token_not_found', msg: 'Invalid Refresh Token' }, 400)
    return c.json(await issue(found[0]))
  })
  const readSessionId = (header = '') => {
    const claims = header.split('.')[1] ?? ''
    return (JSON.parse(Buffer.from(claims, 'base64url').toString()) as { session_id: string }).session_id
  }
  app.get('/user', (c) => {
    const session = sessions.get(readSessionId(c.req.header('authorization')))
    return session ? c.json({ id: session.userId }) : c.json({ error_code: 'session_not_found' }, 403)
  })
  app.post('/logout', (c) => {
    sessions.delete(readSessionId(c.req.header('authorization')))
    return c.body(null, 204)
  })
  app.get('/.well-known/jwks.json', (c) => c.json({ keys: algorithm === 'ES256' ? [publicJwk] : [] }))

  return {
    ...server,
    issuer,
    kid,
    publicJwk,
    sign,
    countSessions: () => sessions.size,
    async deleteSessions(userId) {
      for (const [id, session] of sessions) if (session.userId === userId) sessions.delete(id)
    },
  }
}
