import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Jwk } from '../../packages/tokenlib/src/tokens/jose.js'

/** One case of a Wycheproof file. */
export interface WycheproofTest {
  readonly tcId: number
  readonly comment: string
  readonly result: 'valid' | 'invalid' | 'acceptable'
}

/** Cases that share a key. */
export interface WycheproofGroup<Test extends WycheproofTest> {
  readonly tests: readonly Test[]
}

/** A JWK, or a set of them. */
export type JwkOrSet = Jwk | { readonly keys: readonly Jwk[] }

/** Cases that share a key or key set; an asymmetric one has a public half. */
export interface KeyGroup extends WycheproofGroup<TokenTest> {
  readonly public?: JwkOrSet
  readonly private: JwkOrSet
}

/** A token to verify: a compact one, or a JSON object. */
export interface TokenTest extends WycheproofTest {
  readonly jws?: unknown
  readonly jwe?: unknown
}

/** The groups of a file, which must hold as many cases as the file says it has. */
export function readWycheproof<Group extends WycheproofGroup<WycheproofTest>>(
  folder: string,
  file: string,
): readonly Group[] {
  const { numberOfTests, testGroups } = JSON.parse(
    readFileSync(join(folder, 'wycheproof', file), 'utf8'),
  ) as { numberOfTests: number; testGroups: Group[] }
  const found = testGroups.reduce((sum, { tests }) => sum + tests.length, 0)
  if (found !== numberOfTests) throw new Error(`${file} says ${numberOfTests} cases, and has ${found}`)
  return testGroups
}

/** The keys that a verifier gets: the public half, or the secret. */
export function verifyingKeys(group: KeyGroup): readonly Jwk[] {
  const given = group.public ?? group.private
  return 'keys' in given && Array.isArray(given.keys) ? (given.keys as readonly Jwk[]) : [given]
}

/**
 * What a label asks for. `acceptable` is a signature that only lenient verifiers take; a strict one refuses it.
 */
export function toLabel(result: WycheproofTest['result']): 'accepted' | 'refused' {
  return result === 'valid' ? 'accepted' : 'refused'
}
