import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { type Algorithm, ALGORITHMS } from '../jws/algorithms.js'
import type { TokenConfigOptions } from '../manager/config.js'

/** Configuration fields with a new random key for an algorithm. */
export function createKeyFields(algorithm: Algorithm = 'HS256'): TokenConfigOptions {
  const spec = ALGORITHMS[algorithm]
  if (spec.family === 'hmac') return { JWT_SECRET_KEY: randomBytes(spec.minSecretBytes) }
  return { JWT_PRIVATE_KEY: createPrivateKey(algorithm) }
}

function createPrivateKey(algorithm: Algorithm): KeyObject {
  const spec = ALGORITHMS[algorithm]
  if (spec.family === 'ecdsa') return generateKeyPairSync('ec', { namedCurve: spec.curve }).privateKey
  if (spec.family === 'eddsa') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}
