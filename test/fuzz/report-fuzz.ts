import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { Verdict } from './contestants.js'
import { type Disagreement, type FuzzResult, runFuzz } from './run-fuzz.js'

/** Runs what the arguments ask for and prints what came of it; resolves with how many disagreements there were. */
export async function reportFuzz(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string' },
      seed: { type: 'string' },
      tokens: { type: 'string' },
      from: { type: 'string', default: '0' },
    },
  })
  const seed = parseCount('seed', values.seed ?? String(randomInt(2 ** 32)))
  const tokens = values.tokens === undefined ? Infinity : parseCount('tokens', values.tokens)
  // A number of tokens is a bound of its own.
  const seconds = parseCount('seconds', values.seconds ?? (tokens === Infinity ? '30' : '86400'))
  console.log(`seed ${seed}`)
  const startedAt = performance.now()
  const result = await runFuzz({ seed, tokens, seconds, from: parseCount('from', values.from) })
  const elapsed = (performance.now() - startedAt) / 1000
  printResult(result)
  console.log(`${elapsed.toFixed(1)} s, ${Math.round(result.tokens / elapsed)} tokens a second`)
  for (const disagreement of result.disagreements.slice(0, SHOWN)) {
    console.log(`\n${describeDisagreement(seed, disagreement)}`)
  }
  return result.disagreements.length
}

const SHOWN = 10
const LONGEST_CLAIMS = 400

/** Everything that is needed to see a disagreement again. Its keys are made from the seed, and protect nothing. */
export function describeDisagreement(
  seed: number,
  { fuzzCase, at, reason, ours, oracle }: Disagreement,
): string {
  const { index, mutations, setup, signed, token } = fuzzCase
  const keys = setup.bindings.map(({ algorithm, kid, key }) =>
    JSON.stringify({ ...key.verifying.export({ format: 'jwk' }), alg: algorithm, kid }),
  )
  return [
    `DISAGREEMENT  ${reason}`,
    `  setup       ${setup.name}`,
    `  changes     ${mutations.join('; ') || 'none'}`,
    `  ours        ${[...new Set(ours.map(describeVerdict))].join('\n   then       ')}`,
    `  oracle      ${oracle}`,
    `  moment      ${new Date(at).toISOString()}`,
    `  token       ${JSON.stringify(token)}`,
    `  signed as   ${signed === token ? 'the same' : JSON.stringify(signed)}`,
    ...keys.map((key) => `  key         ${key}`),
    `  again       node tools/evidence/fuzz.js --seed ${seed} --from ${index} --tokens 1`,
  ].join('\n')
}

function describeVerdict(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'accepted':
      return `accepted ${JSON.stringify(verdict.claims).slice(0, LONGEST_CLAIMS)}`
    case 'refused':
      return verdict.code
    case 'crashed':
      return verdict.error instanceof Error ? String(verdict.error.stack) : String(verdict.error)
  }
}

function printResult(result: FuzzResult): void {
  const line = (label: string, count: number): void => console.log(`${String(count).padStart(9)}  ${label}`)
  line('tokens', result.tokens)
  line('comparisons', result.compared)
  line('accepted by both', result.accepted)
  line('refused by both', result.refused)
  console.log('refused by us alone, as documented, for')
  for (const [rule, count] of result.strict) line(rule, count)
  line('several of these', result.strictForSeveral)
  console.log('refused by the oracle alone, as documented, for')
  for (const [choice, count] of result.oracleChoices) line(choice, count)
  line('DISAGREEMENTS', result.disagreements.length)
}

function parseCount(option: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new TypeError(`--${option} takes a whole number, not ${text}`)
  return Number(text)
}
