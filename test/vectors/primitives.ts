import { createPublicKey } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  ALGORITHMS,
  type BoundKey,
  createSignature,
  isSignature,
} from '../../packages/tokenlib/src/tokens/algorithms.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/tokens/jose.js'
import type { KeySources } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { answerKeys, toFailure, toOneAnswer } from './answers.js'
import { parseCaseIds } from './case-ids.js'
import {
  type Answer,
  type CaseResult,
  type CorpusResult,
  type ExceptionEntry,
  tallyCorpus,
} from './corpus.js'
import { bindFirst, NO_KEYS } from './key-sources.js'
import { readLowTwin } from './low-s.js'
import { PRIMITIVE_FILES, type PrimitiveFile } from './primitive-exceptions.js'
import { readWeakDoubt } from './token-groups.js'
import { readWycheproof, toLabel, type WycheproofGroup, type WycheproofTest } from './wycheproof.js'

/** A message and a signature, or a message, a tag and the secret; all in hex. */
interface PrimitiveTest extends WycheproofTest {
  readonly msg: string
  readonly sig?: string
  readonly tag?: string
  readonly key?: string
}

/** Cases that share a public key, in several forms; those with secrets have one each. */
interface PrimitiveGroup extends WycheproofGroup<PrimitiveTest> {
  readonly publicKeyPem?: string
  readonly publicKeyJwk?: Jwk
  readonly keyJwk?: Jwk
}

interface PrimitiveCase {
  /** As it is configured, in every form and under every name that must give the same answer. */
  readonly sources: readonly KeySources[]
  readonly input: string
  readonly signature: Buffer
}

/** Wycheproof's signatures and MACs over plain messages, against the one function that verifies signatures. */
export function runPrimitives(folder: string): CorpusResult[] {
  const known = new Set(PRIMITIVE_FILES.map(({ file }) => file))
  const unknown = readdirSync(join(folder, 'wycheproof/primitives')).filter((file) => !known.has(file))
  if (unknown.length > 0) throw new Error(`No algorithm is named for ${unknown.join(', ')}`)
  return PRIMITIVE_FILES.map((primitive) => {
    const name = `wycheproof ${primitive.file.replace('_test.json', '')}`
    const groups = readWycheproof<PrimitiveGroup>(folder, `primitives/${primitive.file}`)
    return primitive.algorithms.length === 0
      ? tallyCorpus(name, groups.flatMap(refuseKey), [notOffered(primitive)])
      : runPrimitive(name, primitive, groups)
  })
}

function runPrimitive(
  name: string,
  primitive: PrimitiveFile,
  groups: readonly PrimitiveGroup[],
): CorpusResult {
  const weak = new Set(primitive.weak === undefined ? [] : parseCaseIds(primitive.weak))
  const cases = new Map<string, PrimitiveCase>()
  const results: CaseResult[] = []
  for (const group of groups) {
    const shared = publicSources(primitive.algorithms, group)
    for (const test of group.tests) {
      const id = String(test.tcId)
      const sources =
        test.key === undefined ? shared : secretSources(primitive.algorithms, test.key, weak.has(id))
      const signature = Buffer.from(test.sig ?? test.tag ?? '', 'hex')
      const one: PrimitiveCase = { sources, input: toInput(test.msg), signature }
      cases.set(id, one)
      results.push({
        id,
        label: toLabel(test.result),
        answer: answerSignature(one),
        doubt: sources.map(readWeakDoubt).find((doubt) => doubt !== null) ?? null,
      })
    }
  }
  const notes =
    primitive.weak === undefined
      ? []
      : [`weak secrets allowed for ${primitive.weak}: theirs are shorter than the hash`]
  return tallyCorpus(name, results, toEntries(primitive, cases), notes)
}

// A key that is not taken is a failure here, not a refusal: every bad signature would pass.
function answerSignature({ sources, input, signature }: PrimitiveCase): Answer {
  try {
    return toOneAnswer(
      sources.map((one) =>
        isSignature(bindOnce(one), input, signature.toString('base64url')) ? 'accepted' : 'refused',
      ),
    )
  } catch (error) {
    return toFailure(error)
  }
}

// A group has hundreds of signatures by one key.
const boundKeys = new WeakMap<KeySources, BoundKey>()

function bindOnce(sources: KeySources): BoundKey {
  const bound = boundKeys.get(sources) ?? bindFirst(sources)
  boundKeys.set(sources, bound)
  return bound
}

// A signing input is a text, and so is what the function takes. Messages here can be bytes that are none; Node's
// functions take those in the same place.
function toInput(hex: string): string {
  const bytes = Buffer.from(hex, 'hex')
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : (bytes as unknown as string)
}

// As PEM, and once more as a JWK where there is one.
function publicSources(algorithms: readonly Algorithm[], group: PrimitiveGroup): KeySources[] {
  return [group.publicKeyPem, group.publicKeyJwk ?? group.keyJwk]
    .filter((publicKey) => publicKey !== undefined)
    .flatMap((publicKey) =>
      algorithms.map((algorithm) => ({ ...NO_KEYS, JWT_ALGORITHM: algorithm, JWT_PUBLIC_KEY: publicKey })),
    )
}

function secretSources(
  algorithms: readonly Algorithm[],
  hex: string,
  allowWeakSecret: boolean,
): KeySources[] {
  const secret = Buffer.from(hex, 'hex')
  return algorithms.map((algorithm) => ({
    ...NO_KEYS,
    JWT_ALGORITHM: algorithm,
    JWT_SECRET_KEY: secret,
    JWT_ALLOW_WEAK_SECRET: allowWeakSecret,
  }))
}

function toEntries(
  { algorithms, refused }: PrimitiveFile,
  cases: ReadonlyMap<string, PrimitiveCase>,
): ExceptionEntry[] {
  if (refused === undefined) return []
  const [algorithm] = algorithms as readonly [Algorithm]
  const open = (id: string) => cases.get(id) as PrimitiveCase
  const isShortened = (id: string): boolean => {
    const { sources, input, signature } = open(id)
    const whole = Buffer.from(createSignature(bindFirst(sources[0] as KeySources), input), 'base64url')
    return signature.length < whole.length && whole.subarray(0, signature.length).equals(signature)
  }
  const hasLowTwin = (id: string): boolean => {
    const signature = readLowTwin(algorithm, open(id).signature)
    return signature !== null && answerSignature({ ...open(id), signature }) === 'accepted'
  }
  return [
    ALGORITHMS[algorithm].family === 'hmac'
      ? {
          kind: 'policy',
          ids: refused,
          reason: 'a shortened tag, the beginning of the right one: a JWS has the whole (RFC 7518 §3.2)',
          isProven: isShortened,
        }
      : {
          kind: 'policy',
          ids: refused,
          reason: 's in the upper half; the same signature with the lower s is accepted',
          isProven: hasLowTwin,
        },
  ]
}

const PUBLIC_ALGORITHMS = (Object.keys(ALGORITHMS) as Algorithm[]).filter(
  (algorithm) => ALGORITHMS[algorithm].family !== 'hmac',
)

// Node reads these keys; it is we who have no algorithm for them.
function refuseKey(group: PrimitiveGroup): CaseResult[] {
  const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey(String(group.publicKeyPem))
  const isForeign = asymmetricKeyDetails?.namedCurve === 'secp256k1' || asymmetricKeyType === 'ed448'
  const answer = toOneAnswer(
    publicSources(PUBLIC_ALGORITHMS, group).map((sources) => answerKeys(() => bindFirst(sources))),
  )
  return group.tests.map(({ tcId, result }) => ({
    id: String(tcId),
    label: toLabel(result),
    answer: answer === 'refused' ? 'not offered' : answer,
    doubt: isForeign ? null : 'the key is of another kind than expected',
  }))
}

function notOffered({ refused = '' }: PrimitiveFile): ExceptionEntry {
  return {
    kind: 'policy',
    ids: refused,
    reason: 'not offered: no algorithm takes a key on this curve, so none can be configured',
    // That is what the answer "not offered" says.
    isProven: () => true,
  }
}
