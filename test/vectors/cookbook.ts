import { createSignature, isSignature } from '../../packages/tokenlib/src/tokens/algorithms.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import { createKeyRing, type KeySources } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { answerEitherForm, answerKeys, answerToken, toOneAnswer } from './answers.js'
import {
  assertAllNamed,
  type CookbookDocument,
  type CookbookSignature,
  readDocuments,
  readEncryptedForms,
  readKeys,
} from './cookbook-documents.js'
import { type CaseResult, type CorpusResult, type ExceptionEntry, tallyCorpus } from './corpus.js'
import { bindFirst, NO_KEYS, sourcesFor } from './key-sources.js'
import { readLowTwin, readLowTwinToken } from './low-s.js'
import { readWeakDoubt } from './token-groups.js'

/** The examples of RFC 7520, 8037 and 7797: what is compact verifies, and what can be made again is made again. */
export function runCookbook(folder: string): CorpusResult {
  assertAllNamed(folder)
  const documents = readDocuments(folder)
  const encrypted = readEncryptedForms(folder)
  const sources = documents.flatMap(({ signatures }) => signatures.map(sourcesOf))
  return tallyCorpus(
    'ietf-jose cookbook',
    [
      ...documents.flatMap((document) => [...answerForms(document), ...answerSigning(document)]),
      ...Object.entries(encrypted).map(([form, token]) => ({
        id: `RFC8037 encrypted ${form}`,
        label: 'accepted' as const,
        answer: toOneAnswer(sources.map((one) => answerEitherForm(one, token))),
      })),
      ...Object.entries(readKeys(folder)).map(([id, jwk]) => answerKey(id, jwk)),
    ],
    toEntries(new Map(documents.map((document) => [document.id, document])), encrypted),
    [
      'weak secrets allowed for both RFC7797 documents: their secret is that of RFC 7515 A.1, and on the list of published ones',
    ],
  )
}

function answerForms({ id, signatures, forms }: CookbookDocument): CaseResult[] {
  return Object.entries(forms).map(([form, token]) => ({
    id: `${id} ${form}`,
    label: 'accepted',
    answer: toOneAnswer(signatures.map((made) => answerEitherForm(sourcesOf(made), token))),
    doubt: signatures.map((made) => readWeakDoubt(sourcesOf(made))).find((doubt) => doubt !== null) ?? null,
  }))
}

// PSS has a random salt and ECDSA a random number; the others have one signature for each input.
const REPEATABLE: ReadonlySet<Algorithm> = new Set<Algorithm>(['RS256', 'HS256', 'EdDSA'])

function answerSigning({ id, signatures, forms }: CookbookDocument): CaseResult[] {
  if (isEncrypted(forms['compact'])) return []
  return signatures.flatMap((made, index) =>
    REPEATABLE.has(made.algorithm)
      ? [
          {
            id: signatures.length === 1 ? `${id} signing` : `${id} signing ${index + 1}`,
            label: 'accepted' as const,
            answer: sign(made) === made.signature ? ('accepted' as const) : ('refused' as const),
          },
        ]
      : [],
  )
}

function sign(made: CookbookSignature): string | null {
  const signing = createKeyRing(sourcesOf(made)).signingKey(0)
  return signing && createSignature(signing, made.signingInput)
}

// 3.6 is a key for encryption, and must not sign.
function answerKey(id: string, jwk: Jwk): CaseResult {
  const isPrivate = jwk.kty !== 'oct' && 'd' in jwk
  const sources = sourcesFor(jwk)
  return {
    id: `${id} key`,
    label: jwk.use === 'sig' ? 'accepted' : 'refused',
    answer: answerKeys(() =>
      bindFirst(isPrivate ? { ...sources, JWT_PUBLIC_KEY: null, JWT_PRIVATE_KEY: jwk } : sources),
    ),
  }
}

// The secret of RFC 7515 A.1: it is on the list of published ones.
const PUBLISHED = 'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow'

function sourcesOf({ algorithm, key }: CookbookSignature): KeySources {
  return key.kty === 'oct'
    ? { ...sourcesFor(key, algorithm), JWT_ALLOW_WEAK_SECRET: key['k'] === PUBLISHED }
    : { ...NO_KEYS, JWT_ALGORITHM: algorithm, JWT_PRIVATE_KEY: key }
}

function isEncrypted(compact: unknown): boolean {
  return typeof compact === 'string' && compact.split('.').length === 5
}

function toEntries(
  documents: ReadonlyMap<string, CookbookDocument>,
  encrypted: Readonly<Record<string, unknown>>,
): ExceptionEntry[] {
  const open = (id: string): { document: CookbookDocument; form: string } => {
    const space = id.lastIndexOf(' ')
    return {
      document: documents.get(id.slice(0, space)) as CookbookDocument,
      form: id.slice(space + 1),
    }
  }
  return [
    {
      kind: 'policy',
      ids:
        '4.1 json, 4.1 json_flat, 4.2 json, 4.2 json_flat, 4.3 json, 4.3 json_flat, 4.4 json, 4.4 json_flat, ' +
        '4.5 json, 4.5 json_flat, 4.6 json, 4.6 json_flat, 4.7 json, 4.7 json_flat, 4.8 json, RFC8037 json, ' +
        'RFC8037 json_flat, RFC7797 json, RFC7797 json_flat, RFC7797 4.2 json, RFC7797 4.2 json_flat',
      reason: 'a JSON form: this library reads compact tokens only; all signatures in it are good ones',
      isProven: (id) => {
        const { document, form } = open(id)
        return areSignaturesGood(document, document.forms[form] as JsonForm)
      },
    },
    {
      kind: 'policy',
      ids: '4.3 compact',
      reason: 'ES512 with s in the upper half; the same signature with the lower s is accepted',
      isProven: (id) => {
        const { document } = open(id)
        const twin = readLowTwinToken('ES512', String(document.forms['compact']))
        return answerToken(sourcesOf(document.signatures[0] as CookbookSignature), twin) === 'accepted'
      },
    },
    {
      kind: 'policy',
      ids: '4.5 compact',
      reason: 'a detached payload: the token says nothing itself; with its payload in place it is accepted',
      isProven: (id) => {
        const { document } = open(id)
        const [made] = document.signatures as readonly [CookbookSignature]
        const whole = `${made.signingInput}.${made.signature}`
        return (
          String(document.forms['compact']).includes('..') &&
          answerToken(sourcesOf(made), whole) === 'accepted'
        )
      },
    },
    {
      kind: 'policy',
      ids: 'RFC7797 compact',
      reason: 'a payload that is not base64url (b64 is false, and critical); the signature is a good one',
      isProven: (id) => {
        const { document } = open(id)
        const token = String(document.forms['compact'])
        const dot = token.lastIndexOf('.')
        return isGood(document.signatures[0], token.slice(0, dot), token.slice(dot + 1))
      },
    },
    {
      kind: 'policy',
      ids:
        '6 encrypted compact, 6 encrypted json, 6 encrypted json_flat, ' +
        'RFC8037 encrypted compact, RFC8037 encrypted json, RFC8037 encrypted json_flat',
      reason: 'encrypted tokens (JWE) are not offered, nor tokens within them',
      isProven: (id) => {
        const forms = id.startsWith('RFC8037') ? encrypted : open(id).document.forms
        const token = forms[open(id).form]
        return isEncrypted(token) || (typeof token === 'object' && token !== null && 'ciphertext' in token)
      },
    },
    {
      kind: 'corpus error',
      ids: 'RFC7797 signing',
      reason:
        'the signature in its "signing" part is that of RFC7797 4.2; its compact form has the right one',
      isProven: (id) => {
        const [made] = open(id).document.signatures
        const [other] = documents.get('RFC7797 4.2')?.signatures ?? []
        return made?.signature === other?.signature && made?.signingInput !== other?.signingInput
      },
    },
  ]
}

interface JsonForm {
  readonly payload?: string
  readonly signatures?: readonly JsonSignature[]
}

interface JsonSignature {
  readonly protected?: string
  readonly signature?: string
}

// RFC 7515 §7.2: the general form has a list, the flattened one a signature next to the payload. A detached payload
// is taken from the signing input.
function areSignaturesGood({ signatures }: CookbookDocument, form: JsonForm & JsonSignature): boolean {
  const sent = form.signatures ?? [form]
  return (
    sent.length === signatures.length &&
    sent.every((one, index) => {
      const made = signatures[index]
      const payload = form.payload ?? made?.signingInput.split('.')[1]
      return isGood(made, `${one.protected ?? ''}.${payload}`, String(one.signature))
    })
  )
}

function isGood(made: CookbookSignature | undefined, signingInput: string, signature: string): boolean {
  if (made === undefined) return false
  const bound = bindFirst(sourcesOf(made))
  const bytes = Buffer.from(signature, 'base64url')
  return isSignature(bound, signingInput, (readLowTwin(made.algorithm, bytes) ?? bytes).toString('base64url'))
}
