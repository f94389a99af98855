import type { Algorithm, Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import { type CorpusResult, tallyCorpus } from './corpus.js'
import { sourcesFor, sourcesForSet, withoutMembers } from './key-sources.js'
import { areKeysTaken, type Control, runTokenGroups, whenMended, whenNotImported } from './token-groups.js'
import { readWycheproof } from './wycheproof.js'

const FILE = 'json_web_key_test.json'

const withMembers = (members: Partial<Jwk>): Control =>
  whenMended(([key]) => sourcesFor({ ...(key as Jwk), ...members }))

/** The HMAC key of a set alone is fine; next to the EC key, it is refused, whatever the keys say they are for. */
export const withoutMixing: Control = (tokenCase) =>
  whenMended(([secret]) => sourcesFor(secret as Jwk))(tokenCase) &&
  !areKeysTaken({
    ...sourcesForSet(tokenCase.keys.map((key) => withoutMembers(key, 'alg'))),
    JWT_ALLOW_WEAK_SECRET: true,
  })

const withWeakSecret: Control = whenMended(([key]) => ({
  ...sourcesFor(key as Jwk),
  JWT_ALLOW_WEAK_SECRET: true,
}))

// No setting allows an empty secret.
const withoutPermission = (algorithm: Algorithm): Control => {
  const isGenuine = whenNotImported(algorithm)
  return (tokenCase) =>
    isGenuine(tokenCase) && !areKeysTaken({ ...sourcesForSet(tokenCase.keys), JWT_ALLOW_WEAK_SECRET: true })
}

// The second key of the set has a fault of its own: its last letter carries bits that are not part of the secret. So
// the rule is asked with that fixed: another kid is fine, and the same kid still is not.
const isAcceptedWithKid = (kid: string): Control =>
  whenMended(([first, second]) =>
    sourcesForSet([first as Jwk, { ...second, kid, k: String(second?.['k']).replace(/e$/, 'c') }]),
  )
const withDistinctKids: Control = (tokenCase) =>
  isAcceptedWithKid('another')(tokenCase) && !isAcceptedWithKid('kid-aes-sign')(tokenCase)

// The y of the same key elsewhere in the file.
const Y = 'UI8exy-C06a7DUnjIdENkxeFtHM4-l_41LqEw9nVgmw'

/** What each refused key is without its fault: then its token is good. */
const CONTROLS: Readonly<Record<string, Control>> = {
  1: withoutMixing,
  4: withDistinctKids,
  6: withMembers({ alg: 'RS256', use: 'sig' }),
  // A ROCA modulus, 1024 bits, an exponent of 1: such keys have no fixed form.
  7: whenNotImported('RS256'),
  8: whenNotImported('RS256'),
  9: whenNotImported('RS256'),
  10: withWeakSecret,
  11: withWeakSecret,
  12: withWeakSecret,
  16: withoutPermission('HS256'),
  17: withoutPermission('HS384'),
  18: withoutPermission('HS512'),
  19: withMembers({ alg: 'ES256' }),
  20: withMembers({ alg: 'ES256' }),
  21: withMembers({ use: 'sig' }),
  22: withMembers({ y: Y }),
  23: withMembers({ crv: 'P-256' }),
  24: withMembers({ kty: 'EC' }),
  25: withMembers({ alg: 'HS256' }),
  26: withMembers({ alg: 'HS256' }),
}

/**
 * Wycheproof's rules for keys and key sets. There is no exception: each is kept.
 *
 * This library imports no key sets. The rules for sets are held where their keys would be configured, one by one: no
 * configuration mixes HMAC and public keys, nor holds two keys of one `kid`.
 */
export function runWebKeys(folder: string): CorpusResult {
  const { results } = runTokenGroups(readWycheproof(folder, FILE), CONTROLS)
  return tallyCorpus('wycheproof json_web_key', results, [])
}
