import { alternate } from '../alternate.js'
import { createGroup } from '../group.js'
import { sampleCalls, samplePromises } from '../sample.js'
import {
  ALGORITHMS,
  createKeys,
  createManager,
  createTokens,
  DISTINCT_TOKENS,
  toNewStrings,
  toSubject,
} from '../tokens.js'
import { assertSigns, assertVerifies } from './check.js'
import { createSigners } from './signers.js'
import { createColdVerifiers, createRememberingVerifiers } from './verifiers.js'

// Those that a target speaks of.
const NEEDED = ['node:crypto', 'node:crypto by hand', 'tokenlib', 'fast-jwt', 'fast-jwt (cache)']

/**
 * Part 1: creating and verifying, with nothing around it.
 *
 * @param {import('../run.js').Run} run
 */
export async function measureProcess({ quick, report }) {
  const pace = quick
    ? { rounds: 3, sampleMs: 30, warmUpMs: 40, isWanted: ({ name }) => NEEDED.includes(name) }
    : { rounds: 5, sampleMs: 60, warmUpMs: 100, isWanted: () => true }
  for (const algorithm of ALGORITHMS) {
    const keys = createKeys(algorithm)
    const isBrief = quick && algorithm !== 'HS256'
    // It takes seconds to sign a thousand tokens with RSA.
    const tokens = createTokens(createManager(keys), isBrief ? 100 : DISTINCT_TOKENS)
    report(await measureCold(keys, tokens, pace))
    if (isBrief) continue
    report(await measureRepeated(keys, tokens, pace, 'same'))
    report(await measureRepeated(keys, tokens, pace, 'new'))
    report(await measureCreate(keys, tokens[0], pace))
  }
}

async function measureCold(keys, tokens, pace) {
  const verifiers = await createColdVerifiers(keys)
  for (const verifier of verifiers) await assertVerifies(verifier, tokens[0])
  const samples = await measure(verifiers, pace, ({ verify, prepare }) => [
    verify,
    () => (prepare === undefined ? toNewStrings(tokens) : tokens.map(prepare)),
  ])
  return createGroup(
    `verify ${keys.algorithm} cold`,
    `Verify ${keys.algorithm}, every token for the first time`,
    samples,
  )
}

async function measureRepeated(keys, tokens, pace, strings) {
  const verifiers = createRememberingVerifiers(keys)
  for (const verifier of verifiers) await assertVerifies(verifier, tokens[0])
  const batches = { same: () => tokens, new: () => toNewStrings(tokens) }
  const samples = await measure(verifiers, pace, ({ verify }) => [verify, batches[strings]])
  return createGroup(
    `verify ${keys.algorithm} repeated, ${strings} strings`,
    `Verify ${keys.algorithm}, ${tokens.length} tokens again and again, ${strings} string objects`,
    samples,
  )
}

async function measureCreate(keys, own, pace) {
  const signers = await createSigners(keys)
  for (const signer of signers) await assertSigns(signer, keys, own)
  const subjects = Array.from({ length: DISTINCT_TOKENS }, (_, number) => toSubject(number))
  const samples = await measure(signers, pace, ({ create }) => [create, () => subjects])
  return createGroup(`create ${keys.algorithm}`, `Create ${keys.algorithm} with a jti`, samples)
}

async function measure(all, { rounds, sampleMs, warmUpMs, isWanted }, toCall) {
  const contestants = all.filter(isWanted)
  const sample = (contestant, milliseconds) => {
    const [call, nextBatch] = toCall(contestant)
    return (contestant.isAsync ? samplePromises : sampleCalls)(call, nextBatch, milliseconds)
  }
  for (const contestant of contestants) await sample(contestant, warmUpMs)
  return alternate(contestants, rounds, (contestant) => sample(contestant, sampleMs))
}
