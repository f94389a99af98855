import { createVerifier } from 'fast-jwt'
import { verify as verifyWithHono } from 'hono/jwt'
import { jwtVerify } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { createManager } from '../tokens.js'
import { createByHand, createSignatureCheck } from './by-hand.js'
import { internalsOf } from 'tokenlib/kit'

/**
 * @typedef {object} Verifier
 * @property {string} name
 * @property {boolean} [isAsync] Whether it only exists as a promise.
 * @property {(token: string) => unknown} verify The claims, or an error.
 * @property {(token: string) => unknown} [prepare] What a token is made into before the clock starts.
 */

/**
 * Everybody who verifies without remembering tokens.
 *
 * @param {ReturnType<typeof import('../tokens.js').createKeys>} keys
 * @returns {Promise<Verifier[]>}
 */
export async function createColdVerifiers(keys) {
  const { algorithm, publicKey, publicText } = keys
  const algorithms = [algorithm]
  const manager = createManager(keys, { JWT_VERIFIED_CACHE_SIZE: 0 })
  const webKey = await toCryptoKey(publicKey, algorithm, 'verify')
  const cold = createVerifier({ key: publicText, algorithms, cache: false })
  return [
    createFloor(keys),
    createByHand(keys),
    { name: 'tokenlib', verify: (token) => internalsOf(manager).verifyWithoutRevocation(token) },
    { name: 'fast-jwt', verify: cold },
    {
      name: 'jose',
      isAsync: true,
      verify: async (token) => (await jwtVerify(token, webKey, { algorithms })).payload,
    },
    // It has no EdDSA.
    ...(algorithm === 'EdDSA'
      ? []
      : [
          { name: 'jsonwebtoken', verify: (token) => jsonwebtoken.verify(token, publicText, { algorithms }) },
          {
            name: 'jsonwebtoken (KeyObject)',
            verify: (token) => jsonwebtoken.verify(token, publicKey, { algorithms }),
          },
        ]),
    { name: 'hono/jwt', isAsync: true, verify: (token) => verifyWithHono(token, publicText, algorithm) },
    {
      name: 'hono/jwt (CryptoKey)',
      isAsync: true,
      verify: (token) => verifyWithHono(token, webKey, algorithm),
    },
  ]
}

/**
 * Everybody who remembers verified tokens.
 *
 * @param {ReturnType<typeof import('../tokens.js').createKeys>} keys
 * @returns {Verifier[]}
 */
export function createRememberingVerifiers(keys) {
  const { algorithm, publicText } = keys
  const options = { key: publicText, algorithms: [algorithm], cache: 10_000 }
  const manager = createManager(keys)
  return [
    { name: 'tokenlib', verify: (token) => internalsOf(manager).verifyWithoutRevocation(token) },
    { name: 'fast-jwt (cache)', verify: createVerifier(options) },
    // Its documentation offers this to those who do not mind tokens in memory.
    {
      name: 'fast-jwt (cache by token)',
      verify: createVerifier({ ...options, cacheKeyBuilder: (token) => token }),
    },
  ]
}

/**
 * What nobody can do without: the signature alone, with neither JSON nor claims. The token is taken apart beforehand.
 *
 * @param {ReturnType<typeof import('../tokens.js').createKeys>} keys
 * @returns {Verifier}
 */
function createFloor({ algorithm, publicKey }) {
  const prepare = (token) => {
    const end = token.lastIndexOf('.')
    return { input: token.slice(0, end), signature: Buffer.from(token.slice(end + 1), 'base64url') }
  }
  const isGenuine = createSignatureCheck(algorithm, publicKey)
  return { name: 'node:crypto', prepare, verify: ({ input, signature }) => isGenuine(input, signature) }
}

const IMPORTS = {
  HS256: { name: 'HMAC', hash: 'SHA-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  EdDSA: { name: 'Ed25519' },
}

/**
 * A key for Web Crypto, which `jose` and `hono/jwt` are built on.
 *
 * @param {import('node:crypto').KeyObject} key
 * @param {keyof typeof IMPORTS} algorithm
 * @param {'sign' | 'verify'} usage
 */
export async function toCryptoKey(key, algorithm, usage) {
  const [format, bytes] =
    key.type === 'secret'
      ? ['raw', key.export()]
      : key.type === 'public'
        ? ['spki', key.export({ format: 'der', type: 'spki' })]
        : ['pkcs8', key.export({ format: 'der', type: 'pkcs8' })]
  return crypto.subtle.importKey(format, bytes, IMPORTS[algorithm], false, [usage])
}
