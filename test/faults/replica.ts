import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exactly, type FigureLine, type FigureRule, toLines } from './harness/figures.js'
import {
  checkHistory,
  type Condition,
  CONDITIONS,
  countByCondition,
  type Violation,
} from './replica/check-history.js'
import type { History } from './replica/history.js'
import { unavailableByFault } from './replica/unavailable-by-fault.js'
import { FULL_SIZES, runSeed, type SeedSizes } from './replica/run-seed.js'
import type { StoreKind } from './replica/start-servers.js'

/** Which runs are made. */
export interface ReplicaSizes {
  readonly store: StoreKind
  /** Each is a run of its own; they count up from `firstSeed`. */
  readonly seeds: number
  readonly firstSeed: number
  readonly seconds: number
  readonly perRun: Omit<SeedSizes, 'seed' | 'seconds' | 'store'>
  /** How many runs are under way at a time. */
  readonly atOnce: number
}

/** The runs that the promise is made for. */
export const FULL_REPLICA: ReplicaSizes = {
  store: 'redis',
  seeds: 10,
  firstSeed: 1,
  seconds: 20,
  perRun: FULL_SIZES,
  atOnce: 1,
}

/** What came of all runs. */
export interface ReplicaOutcome {
  readonly seeds: number
  readonly operations: number
  readonly revocations: number
  readonly faults: number
  readonly violations: readonly (Violation & { readonly seed: number })[]
  /** How many checks near each kind of fault were refused, and how many there were. */
  readonly unavailable: ReadonlyMap<string, readonly [refused: number, all: number]>
}

/** Runs one seed after the other, or some at a time, and checks the history of each. */
export async function runReplica(
  program: string,
  { store, seeds, firstSeed, seconds, perRun, atOnce }: ReplicaSizes,
): Promise<ReplicaOutcome> {
  const left = Array.from({ length: seeds }, (_, at) => firstSeed + at)
  const violations: (Violation & { readonly seed: number })[] = []
  const unavailable = new Map<string, [number, number]>()
  let [operations, revocations, faults] = [0, 0, 0]
  const runLane = async (): Promise<void> => {
    for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
      const number = seed
      const history = await runSeed(program, { store, seed: number, seconds, ...perRun })
      operations += history.operations.length
      revocations += history.operations.filter(({ op, result }) => op === 'revoke' && result === 'ok').length
      faults += history.faults.length
      const found = checkHistory(history)
      violations.push(...found.map((violation) => ({ ...violation, seed: number })))
      if (found.length > 0) keep(number, history)
      for (const [kind, [refused, all]] of unavailableByFault(history)) {
        const [before, allBefore] = unavailable.get(kind) ?? [0, 0]
        unavailable.set(kind, [before + refused, allBefore + all])
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, runLane))
  return { seeds, operations, revocations, faults, violations, unavailable }
}

// Another run of the same seed has the same faults, and never the same history.
function keep(seed: number, history: History): void {
  const file = join(tmpdir(), `tokenlib-replica-${seed}.json`)
  writeFileSync(file, JSON.stringify(history))
  console.log(`The history of seed ${seed} is in ${file}`)
}

const MEANINGS: Readonly<Record<Condition, string>> = {
  C1: 'accepted later than the bound after it was acknowledged',
  C2: 'accepted after it was refused by the same process',
  C3: 'refused, and not revoked',
  C4: 'accepted by the process that revoked it, or with its position',
  C5: 'not revoked everywhere at the end',
  C6: 'a session that forked, or went on after its end',
  C7: 'unavailable without a fault',
  C8: 'younger than its reads',
}

/** How the outcome is printed; every condition must hold. */
export function toReplicaLines(where: string, outcome: ReplicaOutcome): FigureLine[] {
  const counts = countByCondition(outcome.violations)
  const { seeds, operations, revocations, faults } = outcome
  const conditions = CONDITIONS.map((name): [Condition, FigureRule] => [
    name,
    { label: `${name}: ${MEANINGS[name]}`, promise: exactly(0) },
  ])
  const rules = {
    seeds: { label: 'seeds' },
    operations: { label: 'operations checked' },
    revocations: { label: 'acknowledged revocations' },
    faults: { label: 'faults' },
    ...(Object.fromEntries(conditions) as Record<Condition, FigureRule>),
  }
  return [
    ...toLines(where, { seeds, operations, revocations, faults, ...counts }, rules),
    ...[...outcome.unavailable].map(([kind, [refused, all]]): FigureLine => {
      const share = all === 0 ? 0 : (100 * refused) / all
      const label = `unavailable during "${kind}" and one bound after it, of ${all} checks`
      return { where, label, result: `${share.toFixed(1)} %`, promise: '', isKept: null }
    }),
    ...outcome.violations.slice(0, MOST_SHOWN).map(({ seed, condition, reason, operation }): FigureLine => {
      const label = `seed ${seed}, ${condition}: ${operation.process}, ${operation.key}, ${reason}`
      return { where, label, result: '', promise: '', isKept: null }
    }),
  ]
}

const MOST_SHOWN = 20
