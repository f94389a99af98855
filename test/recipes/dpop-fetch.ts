import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** A `fetch` that sends a proof when it requests or uses a token. */
export async function createDpopFetch(): Promise<
  (url: string | URL, init?: RequestInit) => Promise<Response>
> {
  const key = await generateKeyPair('ES256')
  const jwk = await exportJWK(key.publicKey)
  return async (url, init = {}) => {
    const headers = new Headers(init.headers)
    const token = /^Bearer (.+)$/.exec(headers.get('authorization') ?? '')?.[1]
    const isTokenRequest = init.body instanceof URLSearchParams
    if (token === undefined && !isTokenRequest) return fetch(url, init)

    const { origin, pathname } = new URL(url)
    const ath = token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }
    const claims = { jti: randomUUID(), htm: init.method ?? 'GET', htu: origin + pathname, ...ath }
    const proof = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
      .setIssuedAt()
      .sign(key.privateKey)
    headers.set('dpop', proof)
    if (token !== undefined) headers.set('authorization', `DPoP ${token}`)
    return fetch(url, { ...init, headers })
  }
}
