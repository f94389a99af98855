import { createCaseMaker, type FuzzCase, MUTATIONS } from './create-case.js'
import { createOracle, createOurs, type Oracle, type Ours } from './contestants.js'
import { type Judgement, judgeToken, ORACLE_CHOICES, type OurVerdicts } from './judge.js'
import { createSetups, type Setup } from './setups.js'
import { STRICTNESS } from './strictness.js'

/** Which tokens are made, and how many. */
export interface FuzzOptions {
  readonly seed: number
  /** The first token; 0 unless said otherwise. */
  readonly from?: number
  /** How many tokens at most. */
  readonly tokens: number
  /** No new tokens are made after this many seconds. */
  readonly seconds?: number
}

/** What came of a run. */
export interface FuzzResult {
  readonly tokens: number
  /** How often the contestants were compared: some tokens are judged at two moments. */
  compared: number
  accepted: number
  refused: number
  /** By rule: tokens that we refuse and the oracle does not, for this reason alone. */
  readonly strict: Map<string, number>
  /** The same for several reasons at once. */
  strictForSeveral: number
  readonly oracleChoices: Map<string, number>
  /** By setup: how often both accepted. */
  readonly acceptedBySetup: Map<string, number>
  /** By mutation: how many tokens it was done to. */
  readonly mutations: Map<string, number>
  readonly disagreements: Disagreement[]
}

/** A case that one of the contestants gets wrong. */
export interface Disagreement {
  readonly fuzzCase: FuzzCase
  readonly at: number
  readonly reason: string
  readonly ours: OurVerdicts
  readonly oracle: string
}

/** Makes tokens out of a seed and has both contestants judge them. */
export async function runFuzz({
  seed,
  from = 0,
  tokens,
  seconds = Infinity,
}: FuzzOptions): Promise<FuzzResult> {
  const setups = await createSetups(seed)
  const createCase = createCaseMaker(seed, setups)
  const contestants = new Map<Setup, { readonly ours: Ours; readonly oracle: Oracle }>()
  for (const setup of setups)
    contestants.set(setup, { ours: createOurs(setup), oracle: await createOracle(setup) })

  const result = createResult(setups)
  const endsAt = performance.now() + seconds * 1000
  let made = 0
  while (made < tokens && performance.now() < endsAt) {
    // Several at once: the oracle works on other threads, while we work on this one.
    const batch = Array.from({ length: Math.min(BATCH, tokens - made) }, (_, at) =>
      createCase(from + made + at),
    )
    made += batch.length
    await Promise.all(
      batch.map((fuzzCase) => {
        const { ours, oracle } = contestants.get(fuzzCase.setup) as { ours: Ours; oracle: Oracle }
        return runCase(fuzzCase, ours, oracle, result)
      }),
    )
  }
  return { ...result, tokens: made }
}

const BATCH = 16

async function runCase(fuzzCase: FuzzCase, ours: Ours, oracle: Oracle, result: FuzzResult): Promise<void> {
  const { setup, signed, token, moments, mutations } = fuzzCase
  for (const name of new Set(mutations)) increment(result.mutations, name)
  // A memory that knows the token from before it was changed must not take the one for the other.
  if (signed !== token) ours.verifyRemembering(signed, moments[0] as number)
  for (const at of moments) {
    const judged = await judgeToken(setup, ours, oracle, token, at)
    const { judgement } = judged
    count(result, setup, judgement)
    if (judgement.kind !== 'disagreement') continue
    const theirs = judged.oracle.kind === 'refused' ? `refused, ${judged.oracle.code}` : 'accepted'
    result.disagreements.push({ fuzzCase, at, reason: judgement.reason, ours: judged.ours, oracle: theirs })
  }
}

function count(result: FuzzResult, setup: Setup, judgement: Judgement): void {
  result.compared++
  switch (judgement.kind) {
    case 'accepted':
      result.accepted++
      increment(result.acceptedBySetup, setup.name)
      return
    case 'refused':
      result.refused++
      return
    case 'strict':
      if (judgement.rules.length === 1) increment(result.strict, judgement.rules[0] as string)
      else result.strictForSeveral++
      return
    case 'oracle-choice':
      increment(result.oracleChoices, judgement.choice)
      return
    case 'disagreement':
      return
  }
}

function createResult(setups: readonly Setup[]): FuzzResult {
  const zeros = (names: readonly string[]): Map<string, number> => new Map(names.map((name) => [name, 0]))
  return {
    tokens: 0,
    compared: 0,
    accepted: 0,
    refused: 0,
    strict: zeros(Object.keys(STRICTNESS)),
    strictForSeveral: 0,
    oracleChoices: zeros(Object.values(ORACLE_CHOICES)),
    acceptedBySetup: zeros(setups.map(({ name }) => name)),
    mutations: zeros(MUTATIONS.map(({ name }) => name)),
    disagreements: [],
  }
}

function increment(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}
