import { createHash, randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { NOW } from './manager.js'

/** What a proof is for, and what it says instead of the truth. */
export interface ProofFacts {
  readonly method?: string
  readonly url?: string
  /** The token that the proof comes with. */
  readonly token?: string
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
}

/** Where the applications of these tests are. */
export const PUBLIC_URL = 'https://api.example'

/** A client with a key of its own, whose proofs are made by `jose`. */
export async function createDpopClient(algorithm = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk: JWK = await exportJWK(publicKey)

  const prove = async ({
    method = 'GET',
    url = `${PUBLIC_URL}/`,
    token,
    claims,
    header,
  }: ProofFacts = {}) => {
    const ath = token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }
    const all = { jti: randomUUID(), htm: method, htu: url, iat: NOW, ...ath, ...claims }
    // jose would not sign a claim that is `undefined` otherwise.
    const given = JSON.parse(JSON.stringify(all)) as Record<string, unknown>
    return new SignJWT(given)
      .setProtectedHeader({ alg: algorithm, typ: 'dpop+jwt', jwk, ...header })
      .sign(privateKey)
  }

  return {
    jwk,
    privateKey,
    jkt: await calculateJwkThumbprint(jwk),
    prove,
    /** A request for a route of the application, with a token under the scheme of bound tokens. */
    async request(token: string | null, facts: ProofFacts = {}, headers: Record<string, string> = {}) {
      const { method = 'GET', url = `${PUBLIC_URL}/` } = facts
      const proof = await prove({ ...(token !== null && { token }), ...facts })
      return new Request(url, {
        method,
        headers: { dpop: proof, ...(token !== null && { authorization: `DPoP ${token}` }), ...headers },
      })
    },
  }
}
