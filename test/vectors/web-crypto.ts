import type { Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import { answerEitherForm, answerKeys, toOneAnswer } from './answers.js'
import { type CaseResult, type CorpusResult, tallyCorpus } from './corpus.js'
import { bindFirst, sourcesFor, withoutMembers } from './key-sources.js'
import { isAccepted, runTokenGroups, whenNotImported } from './token-groups.js'
import { withoutMixing } from './web-keys.js'
import { type KeyGroup, readWycheproof, toLabel, verifyingKeys } from './wycheproof.js'

const FILE = 'json_web_crypto_test.json'

/** Wycheproof's older tokens and key sets, signed (JWS) and encrypted (JWE) ones. */
export function runWebCrypto(folder: string): CorpusResult {
  const groups = readWycheproof<KeyGroup>(folder, FILE)
  const isEncrypted = ({ tests }: KeyGroup): boolean => tests.every(({ jwe }) => jwe !== undefined)
  const signed = runTokenGroups(
    groups.filter((group) => !isEncrypted(group)),
    { 46: whenNotImported('RS256'), 47: withoutMixing },
  )
  const encrypted = groups.filter(isEncrypted)
  const tokens = new Map(encrypted.flatMap(({ tests }) => tests.map(({ tcId, jwe }) => [String(tcId), jwe])))
  return tallyCorpus(
    'wycheproof json_web_crypto',
    [...signed.results, ...encrypted.flatMap(refuseEncrypted)],
    [
      {
        kind: 'policy',
        ids: '18',
        reason: 'ES256 with s in the upper half; the same signature with the lower s is accepted',
        isProven: (id) => {
          const { keys, token } = signed.cases.get(id) ?? { keys: [], token: null }
          return isAccepted(sourcesFor(keys[0] as Jwk), token)
        },
      },
      {
        kind: 'policy',
        ids: '50, 67',
        reason: 'encrypted tokens (JWE) are not offered; they have five segments',
        isProven: (id) => String(tokens.get(id)).split('.').length === 5,
      },
    ],
  )
}

// An encryption key cannot be configured. So the tokens also meet the worst that can be: the same key, its marks
// taken off, as a verification key. Refused with errors of ours is all that is asked.
function refuseEncrypted(group: KeyGroup): CaseResult[] {
  const [key] = verifyingKeys(group)
  const asPublished = sourcesFor(withoutMembers(key as Jwk, 'd'))
  const unmarked = sourcesFor(withoutMembers(key as Jwk, 'd', 'alg', 'use'))
  const doubt =
    answerKeys(() => bindFirst(asPublished)) === 'refused' &&
    answerKeys(() => bindFirst(unmarked)) === 'accepted'
      ? null
      : 'the key for encryption is not refused, or refused for something else'
  return group.tests.map(({ tcId, result, jwe }) => ({
    id: String(tcId),
    label: toLabel(result),
    answer: toOneAnswer([answerEitherForm(asPublished, jwe), answerEitherForm(unmarked, jwe)]),
    doubt,
  }))
}
