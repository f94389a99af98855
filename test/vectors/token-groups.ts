import { createPublicKey, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isSignature } from '../../packages/tokenlib/src/tokens/algorithms.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import { createKeyRing, type KeySources } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { answerEitherForm, answerKeys, answerToken } from './answers.js'
import type { CaseResult } from './corpus.js'
import { sourcesForSet } from './key-sources.js'
import { readLowTwinToken } from './low-s.js'
import { type KeyGroup, toLabel, verifyingKeys } from './wycheproof.js'

/** A token, and the keys it is to be verified with. */
export interface TokenCase {
  readonly id: string
  readonly keys: readonly Jwk[]
  readonly token: unknown
}

/** What shows that a token is good but for the one fault that its key or key set has. */
export type Control = (tokenCase: TokenCase) => boolean

/**
 * Verifies the tokens of every group with the group's keys.
 *
 * In a group with no good token the key is at fault, and a fault of our own would pass for a refusal. There the key must
 * be refused, and each case has a control. Secrets that are too weak are named by their `kid`, and allowed.
 */
export function runTokenGroups(
  groups: readonly KeyGroup[],
  controls: Readonly<Record<string, Control>>,
  weakKids: readonly string[] = [],
): { readonly results: CaseResult[]; readonly cases: ReadonlyMap<string, TokenCase> } {
  const cases = new Map<string, TokenCase>()
  const results: CaseResult[] = []
  for (const group of groups) {
    const keys = verifyingKeys(group)
    const sources = { ...sourcesForSet(keys), JWT_ALLOW_WEAK_SECRET: weakKids.includes(String(keys[0]?.kid)) }
    const hasValid = group.tests.some(({ result }) => result === 'valid')
    for (const test of group.tests) {
      const tokenCase = { id: String(test.tcId), keys, token: test.jws }
      cases.set(tokenCase.id, tokenCase)
      results.push({
        id: tokenCase.id,
        label: toLabel(test.result),
        answer: answerEitherForm(sources, test.jws),
        doubt:
          readWeakDoubt(sources) ?? (hasValid ? null : readDoubt(sources, tokenCase, controls[tokenCase.id])),
      })
    }
  }
  return { results, cases }
}

function readDoubt(sources: KeySources, tokenCase: TokenCase, control: Control | undefined): string | null {
  if (areKeysTaken(sources)) return 'its key is at fault, and is taken'
  if (control === undefined) return 'nothing shows what it is refused for'
  return control(tokenCase) ? null : 'it is not shown to be refused for the fault that it is about'
}

/** Why a permission to be weak is not needed, or `null`: one that is given for nothing hides what is refused. */
export function readWeakDoubt(sources: KeySources): string | null {
  if (!sources.JWT_ALLOW_WEAK_SECRET) return null
  const isWeak = !areKeysTaken({ ...sources, JWT_ALLOW_WEAK_SECRET: false })
  return isWeak ? null : 'its secret is listed as weak, and is not'
}

/** Whether keys can be configured. */
export function areKeysTaken(sources: KeySources): boolean {
  return answerKeys(() => createKeyRing(sources)) !== 'refused'
}

/** The control that configures the same keys, the fault fixed, and must then accept the token. */
export function whenMended(mend: (keys: readonly Jwk[]) => KeySources): Control {
  return ({ keys, token }) => isAccepted(mend(keys), token)
}

/** Whether a token is accepted, in the spelling with the lower s at the least. */
export function isAccepted(sources: KeySources, token: unknown): boolean {
  if (answerToken(sources, token) === 'accepted') return true
  const twin = typeof token === 'string' ? readLowTwinToken(sources.JWT_ALGORITHM, token) : null
  return twin !== null && answerToken(sources, twin) === 'accepted'
}

/** The control for a key that cannot be fixed: past our import, the signature is the key's own. */
export function whenNotImported(algorithm: Algorithm): Control {
  return ({ keys, token }) => {
    const key = toKeyObject(keys[0] as Jwk)
    const dot = String(token).lastIndexOf('.')
    const signature = Buffer.from(String(token).slice(dot + 1), 'base64url')
    return isSignature(
      { algorithm, key, kid: '', ids: [] },
      String(token).slice(0, dot),
      signature.toString('base64url'),
    )
  }
}

function toKeyObject(jwk: Jwk): KeyObject {
  return jwk.kty === 'oct'
    ? createSecretKey(Buffer.from(String(jwk['k']), 'base64url'))
    : createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
}
