import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { CORPORA, readAbsence, readNotRun } from './corpora.js'

const FOLDER = fileURLToPath(new URL('../../../shared/vectors', import.meta.url))

const absence = readAbsence(FOLDER)
if (absence !== null) console.log(absence)

/** Cases, passed, refused by policy, corpus errors: known from the corpora, not from what came out. */
type Counts = readonly [cases: number, passed: number, policy: number, errors: number]

const EXPECTED: Readonly<Record<string, Readonly<Record<string, Counts>>>> = {
  // 393 for a strict verifier, less one for its high s, less six for their empty payloads.
  'web signatures': { 'wycheproof json_web_signature': [401, 386, 7, 8] },
  'web keys': { 'wycheproof json_web_key': [26, 26, 0, 0] },
  'web crypto': { 'wycheproof json_web_crypto': [83, 80, 3, 0] },
  primitives: {
    'wycheproof hmac_sha256': [174, 141, 33, 0],
    'wycheproof hmac_sha384': [174, 141, 33, 0],
    'wycheproof hmac_sha512': [174, 141, 33, 0],
    'wycheproof rsa_signature_2048_sha256': [259, 259, 0, 0],
    'wycheproof rsa_signature_2048_sha384': [258, 258, 0, 0],
    'wycheproof rsa_signature_2048_sha512': [259, 259, 0, 0],
    'wycheproof rsa_pss_2048_sha256_mgf1_32': [108, 108, 0, 0],
    'wycheproof rsa_pss_2048_sha384_mgf1_48': [141, 141, 0, 0],
    'wycheproof rsa_pss_4096_sha512_mgf1_64': [179, 179, 0, 0],
    'wycheproof ecdsa_secp256r1_sha256_p1363': [262, 192, 70, 0],
    'wycheproof ecdsa_secp384r1_sha384_p1363': [280, 192, 88, 0],
    'wycheproof ecdsa_secp521r1_sha512_p1363': [318, 211, 107, 0],
    'wycheproof ed25519': [151, 151, 0, 0],
    'wycheproof ecdsa_secp256k1_sha256_p1363': [252, 0, 252, 0],
    'wycheproof ed448': [87, 0, 87, 0],
  },
  // 35 forms, 10 signatures to make again and 6 keys.
  cookbook: { 'ietf-jose cookbook': [51, 20, 30, 1] },
}

// The list of secrets takes longer than all the others, and has a file of its own.
const others = Object.entries(CORPORA).filter(([name]) => name !== 'weak secrets')

describe.skipIf(absence !== null)('published vectors', () => {
  test('every corpus has its numbers here', () => {
    expect(others.map(([name]) => name)).toEqual(Object.keys(EXPECTED))
  })

  test.each(others)('%s: every case is explained', { timeout: 300_000 }, (name, run) => {
    const results = run(FOLDER)
    expect(results.flatMap(({ name, unexplained }) => unexplained.map((line) => `${name} ${line}`))).toEqual(
      [],
    )
    const counts = results.map(({ name, cases, passed, policy, errors }): [string, Counts] => {
      expect(passed + policy + errors).toBe(cases)
      return [name, [cases, passed, policy, errors]]
    })
    expect(Object.fromEntries(counts)).toEqual(EXPECTED[name])
  })

  test('status lists are counted, and not run', () => {
    expect(readNotRun(FOLDER)).toEqual([
      { name: 'token status list', cases: 321, reason: 'status lists are not offered' },
    ])
  })
})
