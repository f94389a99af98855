import type { KeyObject } from 'node:crypto'
import type { Algorithm } from '../../../packages/tokenlib/src/kit.js'
import type { Lab, TestedVerifier } from './attack.js'
import { forge, type Forgery, keyPairOf, SECRET } from './forge.js'

/** The secret of HS512 verifiers, which want 64 bytes (RFC 7518 §3.2). */
export const LONG_SECRET = `${SECRET}-8Gq`

/** What signs and what verifies with an algorithm. */
export function keysFor(algorithm: Algorithm): {
  readonly signKey: KeyObject | string
  readonly verifyKey: KeyObject | string
} {
  if (algorithm.startsWith('HS')) return { signKey: LONG_SECRET, verifyKey: LONG_SECRET }
  const { privateKey, publicKey } = keyPairOf(algorithm)
  return { signKey: privateKey, verifyKey: publicKey }
}

/** A token that is really signed by the key of an algorithm, whatever else is wrong with it. */
export function forgeAs(algorithm: Algorithm, forgery: Omit<Forgery, 'algorithm' | 'key'> = {}): string {
  return forge({ algorithm, key: keysFor(algorithm).signKey, ...forgery })
}

/** A verifier with the key of an algorithm, shown to take an honest token. */
export function openAs({ open }: Lab, algorithm: Algorithm): Promise<TestedVerifier> {
  return open({ algorithm, key: keysFor(algorithm).verifyKey }, forgeAs(algorithm))
}
