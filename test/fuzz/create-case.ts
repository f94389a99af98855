import { KEY_MUTATIONS } from './confuse-keys.js'
import { createDraft, type Mutation, NOW, toTokens } from './draft.js'
import { HEADER_MUTATIONS } from './mutate-header.js'
import { PAYLOAD_MUTATIONS } from './mutate-payload.js'
import { SIGNATURE_MUTATIONS } from './mutate-signature.js'
import { SIGNATURE_SPELLINGS, SIGNED_SPELLINGS } from './mutate-spelling.js'
import { TOKEN_MUTATIONS } from './mutate-token.js'
import { createRandom, type Random } from './random.js'
import type { Setup } from './setups.js'

/** A token to be judged. */
export interface FuzzCase {
  readonly index: number
  readonly setup: Setup
  readonly token: string
  /** The same token before the changes that followed its signature. */
  readonly signed: string
  /** When it is judged, in epoch milliseconds: once, or twice. */
  readonly moments: readonly number[]
  /** What was done to it. */
  readonly mutations: readonly string[]
}

/** Every mutation there is. */
export const MUTATIONS: readonly Mutation[] = [
  ...PAYLOAD_MUTATIONS,
  ...HEADER_MUTATIONS,
  ...SIGNED_SPELLINGS,
  ...KEY_MUTATIONS,
  ...SIGNATURE_SPELLINGS,
  ...SIGNATURE_MUTATIONS,
  ...TOKEN_MUTATIONS,
]

/** Makes the cases of a seed; each depends on the seed and its index alone. */
export function createCaseMaker(seed: number, setups: readonly Setup[]): (index: number) => FuzzCase {
  const lots = setups.flatMap((setup) => Array<Setup>(setup.weight).fill(setup))
  const pooled = createPool(seed, setups)
  return (index) => {
    const random = createRandom(seed, index)
    const setup = random.pick(lots)
    // Signatures that take milliseconds are mostly made once and changed often.
    const isFresh = !SLOW.has(setup.bindings[0]?.key.kind ?? '') || random.oneIn(5)
    const other = (): string => toTokens(pooled(setup, random, other)).signed
    const draft = isFresh ? createDraft(setup, random, other) : pooled(setup, random, other)
    const mutations = chooseMutations(random, isFresh ? FRESH_GROUPS : POOLED_GROUPS)
    for (const mutation of mutations) mutation.apply(draft, random)
    const { signed, token } = toTokens(draft)
    const names = mutations.map(({ name }) => name)
    return { index, setup, token, signed, moments: chooseMoments(random), mutations: names }
  }
}

const SLOW: ReadonlySet<string> = new Set(['rsa', 'P-384', 'P-521'])

type Group = readonly Mutation[]
// By how often each is chosen.
const POOLED_GROUPS: readonly Group[] = [
  SIGNATURE_SPELLINGS,
  SIGNATURE_MUTATIONS,
  SIGNATURE_MUTATIONS,
  TOKEN_MUTATIONS,
]
const FRESH_GROUPS: readonly Group[] = [
  ...Array<Group>(5).fill(PAYLOAD_MUTATIONS),
  ...Array<Group>(4).fill(HEADER_MUTATIONS),
  SIGNED_SPELLINGS,
  KEY_MUTATIONS,
  ...POOLED_GROUPS,
]

function chooseMutations(random: Random, groups: readonly Group[]): Mutation[] {
  const count = random.pick([0, 1, 1, 1, 1, 1, 2, 2])
  return Array.from({ length: count }, () => random.pick(random.pick(groups)))
}

function chooseMoments(random: Random): number[] {
  const now = NOW * 1000
  // Quarters of a second are exact in binary, so that no rounding decides between the contestants.
  const first = random.pick([0, 0, 0, 0, 250, 500, 750, -1000, 1000])
  const second = random.pick([-60_000, -1000, 250, 1000, 29_000, 30_000, 31_000, 60_000, 3_600_000])
  return random.oneIn(6) ? [now + first, now + first + second] : [now + first]
}

const POOL_SIZE = 4

/** A few good tokens of each setup, signed when they are first asked for. */
function createPool(seed: number, setups: readonly Setup[]): typeof createDraft {
  const signatures = new Map<number, Buffer>()
  return (setup, random, other) => {
    // Streams below those of keys: the pool of a seed is always the same, whatever was asked for before.
    const stream = -1000 - setups.indexOf(setup) * POOL_SIZE - random.integer(POOL_SIZE)
    const draft = createDraft(setup, createRandom(seed, stream), other)
    const { sign } = draft
    draft.sign = (input) => {
      const signature = signatures.get(stream) ?? sign(input)
      signatures.set(stream, signature)
      return Buffer.from(signature)
    }
    return draft
  }
}
