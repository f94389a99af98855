import { isSignature } from '../../packages/tokenlib/src/tokens/algorithms.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import { answerToken } from './answers.js'
import { type CorpusResult, type ExceptionEntry, tallyCorpus } from './corpus.js'
import { bindFirst, sourcesFor, withoutMembers } from './key-sources.js'
import { readLowTwinToken } from './low-s.js'
import { type Control, runTokenGroups, type TokenCase, whenMended } from './token-groups.js'
import { readWycheproof } from './wycheproof.js'

const FILE = 'json_web_signature_test.json'

// Their keys say that they are for encryption: without that, they verify.
const withoutUse: Control = whenMended(([key]) => sourcesFor(withoutMembers(key as Jwk, 'use', 'key_ops')))
const CONTROLS: Readonly<Record<string, Control>> = {
  353: withoutUse,
  354: withoutUse,
  355: withoutUse,
  356: withoutUse,
}

/** Wycheproof's compact tokens: HMAC, RSA and ECDSA signatures with every fault that has been thought of. */
export function runWebSignatures(folder: string): CorpusResult {
  // The secret of 357-377 is 32 bytes of zero.
  const { results, cases } = runTokenGroups(readWycheproof(folder, FILE), CONTROLS, ['hs256-key'])
  return tallyCorpus('wycheproof json_web_signature', results, toEntries(cases), [
    'weak secrets allowed for 357-377: theirs is 32 bytes of zero',
  ])
}

function toEntries(cases: ReadonlyMap<string, TokenCase>): ExceptionEntry[] {
  const open = (id: string): { key: Jwk; token: string } => {
    const { keys, token } = cases.get(id) as TokenCase
    return { key: keys[0] as Jwk, token: token as string }
  }
  // The key's own name for its algorithm taken away, the token's in its place.
  const isAcceptedAs = (algorithm: Algorithm, key: Jwk, token: string | null): boolean =>
    answerToken(sourcesFor(withoutMembers(key, 'alg'), algorithm), token) === 'accepted'

  return [
    {
      kind: 'policy',
      ids: '18',
      reason: 'ES256 with s in the upper half; the same signature with the lower s is accepted',
      isProven: (id) => isAcceptedAs('ES256', open(id).key, readLowTwinToken('ES256', open(id).token)),
    },
    {
      kind: 'policy',
      ids: '259, 264, 268, 272, 320, 325',
      reason: 'an empty payload: it holds no claims, and is what a detached payload looks like',
      isProven: (id) => {
        const { key, token } = open(id)
        const [header, payload, signature] = token.split('.')
        const bytes = Buffer.from(String(signature), 'base64url')
        return (
          payload === '' && isSignature(bindFirst(sourcesFor(key)), `${header}.`, bytes.toString('base64url'))
        )
      },
    },
    {
      kind: 'corpus error',
      ids: '346, 350',
      reason:
        'the key says PS256, the token PS384 (RFC 8725 §3.1); without the alg of the key it is accepted',
      isProven: (id) => open(id).key.alg === 'PS256' && isAcceptedAs('PS384', open(id).key, open(id).token),
    },
    {
      kind: 'corpus error',
      ids: '347, 351',
      reason: 'the key says ES521, which is no algorithm; as ES512 and with the lower s it is accepted',
      isProven: (id) => {
        const { key, token } = open(id)
        return key.alg === 'ES521' && isAcceptedAs('ES512', key, readLowTwinToken('ES512', token))
      },
    },
    {
      kind: 'corpus error',
      ids: '367, 370',
      reason: 'labelled invalid, and letter for letter the token of 357, which is labelled valid',
      isProven: (id) => open(id).token === open('357').token,
    },
    {
      kind: 'corpus error',
      ids: '372, 373',
      reason: 'labelled valid, and the token of 357 with a "?" in a segment (RFC 7515 §2 forbids it)',
      isProven: (id) => open(id).token.includes('?') && open(id).token.replace('?', '') === open('357').token,
    },
  ]
}
