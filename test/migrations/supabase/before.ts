import { GoTrueClient } from '@supabase/auth-js'
import { Hono } from 'hono'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { type RunningServer, serveFetch } from '../../../examples/server.js'
import { JWT_SECRET, type SigningKey } from './gotrue.js'

/** `supabase.auth` of a page, without its timer. */
export function createSupabaseAuth(issuer: string): GoTrueClient {
  const kept = new Map<string, string>()
  return new GoTrueClient({
    url: issuer,
    headers: { apikey: 'anon' },
    autoRefreshToken: false,
    detectSessionInUrl: false,
    persistSession: true,
    // In a page: localStorage.
    storage: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    },
  })
}

/** An API that verifies the tokens itself. */
export function start(port: number, issuer: string, algorithm: SigningKey): Promise<RunningServer> {
  const jwks = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`))
  const options = { issuer, audience: 'authenticated' }
  const app = new Hono()
  app.get('/me', async (c) => {
    const [, token = ''] = (c.req.header('authorization') ?? '').split(' ')
    const { payload } =
      algorithm === 'HS256'
        ? await jwtVerify(token, Buffer.from(JWT_SECRET), options)
        : await jwtVerify(token, jwks, options)
    return c.json({ id: payload.sub })
  })
  return serveFetch(app.fetch, port)
}
