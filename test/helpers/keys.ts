import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { SECRET } from './manager.js'

export interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** A new key pair for an asymmetric algorithm. */
export function createKeyPair(algorithm: Algorithm): KeyPair {
  switch (algorithm.slice(0, 2)) {
    case 'RS':
    case 'PS':
      return generateKeyPairSync('rsa', { modulusLength: 2048 })
    case 'ES':
      return generateKeyPairSync('ec', { namedCurve: CURVES[algorithm] ?? '' })
    default:
      return generateKeyPairSync('ed25519')
  }
}

const CURVES: Partial<Record<Algorithm, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }

/** All algorithms. */
export const ALL_ALGORITHMS: readonly Algorithm[] = [
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

const pairs = new Map<string, KeyPair>()

/** The key pair of this test run for an algorithm: made once, because RSA keys are slow to make. */
export function keyPairFor(algorithm: Algorithm): KeyPair {
  const kind = algorithm.startsWith('PS') || algorithm.startsWith('RS') ? 'RSA' : algorithm
  let pair = pairs.get(kind)
  if (pair === undefined) pairs.set(kind, (pair = createKeyPair(algorithm)))
  return pair
}

/** Configuration fields that let a manager sign and verify with an algorithm. */
export function configFor(algorithm: Algorithm): TokenConfigOptions {
  return algorithm.startsWith('HS')
    ? { JWT_ALGORITHM: algorithm, JWT_SECRET_KEY: SECRET }
    : { JWT_ALGORITHM: algorithm, JWT_SECRET_KEY: null, JWT_PRIVATE_KEY: keyPairFor(algorithm).privateKey }
}
