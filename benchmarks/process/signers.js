import { createHmac, randomUUID, sign } from 'node:crypto'
import { createSigner } from 'fast-jwt'
import { sign as signWithHono } from 'hono/jwt'
import { SignJWT } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { createManager } from '../tokens.js'
import { toCryptoKey } from './verifiers.js'

/**
 * @typedef {object} Signer
 * @property {string} name
 * @property {boolean} [isAsync]
 * @property {boolean} [isFloor] Whether it signs what it is given, and makes no token of its own.
 * @property {(subject: string) => unknown} create A token.
 */

/**
 * Everybody who makes an access token for a subject, with the same claims: the others get an id and the times from
 * us, as an application would give them.
 *
 * @param {ReturnType<typeof import('../tokens.js').createKeys>} keys
 * @param {Record<string, string>} extra Claims of the application.
 * @returns {Promise<Signer[]>}
 */
export async function createSigners(keys, extra) {
  const { algorithm, privateKey, privateText } = keys
  const manager = createManager(keys)
  const kid = manager.keys.current
  const webKey = await toCryptoKey(privateKey, algorithm, 'sign')
  const fast = createSigner({ key: privateText, algorithm, kid })
  const ready = createClaims('user-0000000', extra)
  return [
    createFloor(keys, manager),
    { name: 'tokenlib', create: (uid) => manager.createAccessToken({ uid, ...extra }) },
    { name: 'fast-jwt', create: (subject) => fast(createClaims(subject, extra)) },
    // The signature and the encoding without the making of claims.
    { name: 'fast-jwt (claims given)', create: () => fast(ready) },
    {
      name: 'jose',
      isAsync: true,
      create: (subject) =>
        new SignJWT(createClaims(subject, extra))
          .setProtectedHeader({ alg: algorithm, typ: 'JWT', kid })
          .sign(webKey),
    },
    // It has no EdDSA.
    ...(algorithm === 'EdDSA'
      ? []
      : [
          {
            name: 'jsonwebtoken',
            create: (subject) =>
              jsonwebtoken.sign(createClaims(subject, extra), privateText, { algorithm, keyid: kid }),
          },
          {
            name: 'jsonwebtoken (KeyObject)',
            create: (subject) =>
              jsonwebtoken.sign(createClaims(subject, extra), privateKey, { algorithm, keyid: kid }),
          },
        ]),
    {
      name: 'hono/jwt',
      isAsync: true,
      create: (subject) => signWithHono(createClaims(subject, extra), privateText, algorithm),
    },
  ]
}

// The claims of our access tokens. `randomUUID` draws from a pool: `randomBytes` would cost more than the signature.
function createClaims(sub, extra) {
  const iat = Math.floor(Date.now() / 1000)
  return { sub, ...extra, type: 'access', jti: randomUUID(), iat, nbf: iat, exp: iat + 900, fresh: false }
}

/**
 * What nobody can do without: the signature of a text that is there, in base64url.
 *
 * @returns {Signer}
 */
function createFloor({ algorithm, privateKey }, manager) {
  const token = manager.createAccessToken({ uid: 'user-0000000' })
  const input = token.slice(0, token.lastIndexOf('.'))
  const key = algorithm === 'ES256' ? { key: privateKey, dsaEncoding: 'ieee-p1363' } : privateKey
  const hash = algorithm === 'EdDSA' ? null : 'sha256'
  const create =
    algorithm === 'HS256'
      ? () => `${input}.${createHmac('sha256', privateKey).update(input).digest('base64url')}`
      : () => `${input}.${sign(hash, Buffer.from(input), key).toString('base64url')}`
  return { name: 'node:crypto', isFloor: true, create }
}
