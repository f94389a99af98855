import { findClaimDifference, isSameJson } from './compare-claims.js'
import type { Oracle, OracleVerdict, Ours, Verdict } from './contestants.js'
import type { Setup } from './setups.js'
import { findStrictness, openToken } from './strictness.js'

/** What comes of a token: the contestants agree, or differ in a way that is known, or one of them is wrong. */
export type Judgement =
  | { readonly kind: 'accepted' | 'refused' }
  /** The oracle accepts, we refuse, and these rules of ours say why. */
  | { readonly kind: 'strict'; readonly rules: readonly string[] }
  /** The oracle refuses, we accept, and it is a choice of the oracle. */
  | { readonly kind: 'oracle-choice'; readonly choice: string }
  | { readonly kind: 'disagreement'; readonly reason: string }

/** What our verifier says: from scratch, by a manager with a memory, and by that manager once more. */
export type OurVerdicts = readonly [fresh: Verdict, remembering: Verdict, repeated: Verdict]

/** Asks both contestants about a token at a moment, and compares what they say. */
export async function judgeToken(
  setup: Setup,
  ours: Ours,
  oracle: Oracle,
  token: string,
  at: number,
): Promise<{ readonly judgement: Judgement; readonly ours: OurVerdicts; readonly oracle: OracleVerdict }> {
  const answer = oracle(token, at)
  const verdicts = [
    ours.verify(token, at),
    ours.verifyRemembering(token, at),
    ours.verifyRemembering(token, at),
  ] as const
  const oracleVerdict = await answer
  const judgement =
    findUnsteadiness(verdicts) ??
    (await compareVerdicts(setup, oracle, token, at, verdicts[0], oracleVerdict))
  return { judgement, ours: verdicts, oracle: oracleVerdict }
}

/** Holds one verdict of ours against the oracle's. */
export async function compareVerdicts(
  setup: Setup,
  oracle: Oracle,
  token: string,
  at: number,
  ours: Verdict,
  theirs: OracleVerdict,
): Promise<Judgement> {
  if (theirs.kind === 'refused') {
    if (ours.kind !== 'accepted') return { kind: 'refused' }
    const choice = await findOracleChoice(setup, oracle, token, at, ours.claims)
    return choice === null
      ? disagree(`we accept what the oracle refuses (${theirs.code})`)
      : { kind: 'oracle-choice', choice }
  }
  const rules = findStrictness(openToken(setup, token, at, theirs))
  if (ours.kind !== 'accepted') {
    return rules.length > 0
      ? { kind: 'strict', rules }
      : disagree(`we refuse what the oracle accepts (${ours.kind === 'refused' ? ours.code : 'crashed'})`)
  }
  // Both accept, and we should not have: strictness is a promise, not an excuse.
  if (rules.length > 0) return disagree(`we accept in spite of: ${rules.join('; ')}`)
  const difference = findClaimDifference(ours.claims, theirs.claims, setup.identityClaim)
  return difference === null ? { kind: 'accepted' } : disagree(`the claims differ: ${difference}`)
}

/** Everything that the oracle refuses by a choice of its own, by name. */
export const ORACLE_CHOICES = {
  /** Its clock shows whole seconds, rounded down, so that a token begins up to a second later. */
  roundsDown: 'begins within this second',
} as const

async function findOracleChoice(
  setup: Setup,
  oracle: Oracle,
  token: string,
  at: number,
  { nbf, exp }: Readonly<Record<string, unknown>>,
): Promise<string | null> {
  const now = at / 1000
  const isBegun = typeof nbf === 'number' && nbf <= now + setup.leeway && nbf > Math.floor(now) + setup.leeway
  const isOver = typeof exp === 'number' && exp <= now - setup.leeway
  if (!isBegun || isOver) return null
  // With one second more of patience the oracle has nothing else against the token.
  return (await oracle(token, at, 1)).kind === 'accepted' ? ORACLE_CHOICES.roundsDown : null
}

function findUnsteadiness(verdicts: OurVerdicts): Judgement | null {
  for (const verdict of verdicts) {
    if (verdict.kind === 'crashed') return disagree(`we crash: ${String(verdict.error)}`)
  }
  const [first] = verdicts
  return verdicts.every((verdict) => isSameVerdict(verdict, first))
    ? null
    : disagree('a manager that remembers tokens says something else')
}

function isSameVerdict(one: Verdict, other: Verdict): boolean {
  if (one.kind === 'accepted') return other.kind === 'accepted' && isSameJson(one.claims, other.claims)
  return one.kind === 'refused' && other.kind === 'refused' && one.code === other.code
}

function disagree(reason: string): Judgement {
  return { kind: 'disagreement', reason }
}
