import { strictEqual } from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { TokenConfig, TokenManager } from 'tokenlib'
import { KEYS, NOW, SECRET } from '../fixtures.js'

/** The bytes of the secret. */
export const SECRET_BYTES = Buffer.from(SECRET, 'base64url')

/** Every algorithm, with the name of its key pair; `null` for the secret. */
export const ALGORITHMS = {
  HS256: null,
  HS384: null,
  HS512: null,
  RS256: 'RSA',
  RS384: 'RSA',
  RS512: 'RSA',
  PS256: 'RSA',
  PS384: 'RSA',
  PS512: 'RSA',
  ES256: 'ES256',
  ES384: 'ES384',
  ES512: 'ES512',
  EdDSA: 'Ed25519',
  Ed25519: 'Ed25519',
}

/** The fields that give an algorithm its key. */
export function keyFields(algorithm) {
  const name = ALGORITHMS[algorithm]
  return name === null ? { JWT_SECRET_KEY: SECRET } : { JWT_PRIVATE_KEY: KEYS[name].privatePem }
}

/** A manager whose clock stands still; `options` may move it. */
export function createManager(fields = {}, options = {}) {
  const config = new TokenConfig({ JWT_SECRET_KEY: fields.JWT_PRIVATE_KEY ? null : SECRET, ...fields })
  return new TokenManager({ config, clock: () => NOW * 1000, ...options })
}

/** A manager that accepts the tokens which `jose` signed with an algorithm. */
export function createVerifier(algorithm) {
  const name = ALGORITHMS[algorithm]
  const key = name === null ? { JWT_SECRET_KEY: SECRET_BYTES } : { JWT_PUBLIC_KEY: KEYS[name].publicPem }
  return new TokenManager({
    config: new TokenConfig({ JWT_ALGORITHM: algorithm, ...key }),
    clock: () => NOW * 1000,
  })
}

/** Asserts that a promise rejects, or a function throws, with one of these codes. */
export async function refuses(attempt, ...codes) {
  let value
  try {
    value = await (typeof attempt === 'function' ? attempt() : attempt)
  } catch (error) {
    if (codes.includes(error?.code)) return
    throw new Error(`Expected ${codes.join(' or ')}`, { cause: error })
  }
  strictEqual(`accepted ${typeof value}`, codes.join(' or '))
}

/** The codes of a token that is not genuine. */
export const NOT_GENUINE = ['TOKEN_INVALID', 'TOKEN_SIGNATURE_INVALID']

/** The base64url of a text, of bytes, or of a value as JSON. */
export function encode(value) {
  const isData = typeof value === 'string' || value instanceof Uint8Array
  return Buffer.from(isData ? value : JSON.stringify(value)).toString('base64url')
}
