import { KeyObject } from 'node:crypto'
import { Hono } from 'hono'
import { jwt, verify } from 'hono/jwt'
import type { Target, VerifierOptions } from '../target.js'

// Its guide gives an algorithm; without one it takes HS256.
type HonoAlgorithm = 'HS256'

/** Hono's `jwt`: `verify`, and the middleware for whole requests. It forgives no clock difference. */
export const hono: Target = {
  name: 'hono/jwt',
  open(options) {
    const { algorithm, issuer, audience, leeway, cache } = options
    // Without an algorithm it refuses everything, honest tokens too.
    if (cache === true || leeway !== undefined || algorithm === undefined || algorithm === 'Ed25519')
      return null
    const key = toKey(options) as string
    return (token) =>
      verify(token, key, {
        alg: algorithm as HonoAlgorithm,
        ...(issuer !== undefined && { iss: issuer }),
        ...(audience !== undefined && { aud: audience }),
      })
  },
  guard(options) {
    const { algorithm = 'HS256', cookie } = options
    const app = new Hono()
    const secret = toKey(options) as string
    app.use(jwt({ secret, alg: algorithm as HonoAlgorithm, ...(cookie !== undefined && { cookie }) }))
    app.all('*', (context) => context.json(context.get('jwtPayload')))
    return async (request) => {
      const response = await app.request(request)
      if (response.status >= 400) throw new Error(`Answered ${response.status}`)
      return response.json()
    }
  },
  isRefusal: (error) => error instanceof Error,
}

// It takes texts, JWKs and Web Crypto keys.
function toKey({ key }: VerifierOptions): unknown {
  if (key instanceof KeyObject) {
    return key.type === 'secret' ? toJwk(key.export()) : key.export({ format: 'pem', type: 'spki' })
  }
  return key instanceof Uint8Array ? toJwk(key) : key
}

function toJwk(secret: Uint8Array): object {
  return { kty: 'oct', k: Buffer.from(secret).toString('base64url') }
}
