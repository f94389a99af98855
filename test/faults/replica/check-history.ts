import { type Fault, type History, type Operation, STARVED, STORE } from './history.js'

/**
 * What must hold of every history:
 *
 * - C1: no check that starts more than the bound after a revocation was acknowledged answers `valid`.
 * - C2: a process that answered `revoked` never answers `valid` again, also after it was restarted.
 * - C3: a check answers `revoked` only if somebody revoked the key.
 * - C4: C1 with a bound of 0, on the process that revoked and where the position of the revocation is demanded.
 * - C5: at the end every acknowledged revocation is in every process, and in the store.
 * - C6: one successor of a refresh token moves the session on, once, and a session that has ended by a reuse or a
 *   revocation does not go on.
 * - C7: without a fault in the last two bounds, no check is refused; after a loss, for as much longer as it takes to read
 *   everything again.
 * - C8: a claimed age is not younger than the reads allow, and `valid` needs a read that was sent within the bound.
 */
export type Condition = 'C1' | 'C2' | 'C3' | 'C4' | 'C5' | 'C6' | 'C7' | 'C8'

/** All conditions. */
export const CONDITIONS: readonly Condition[] = ['C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C8']

/** An operation that breaks a condition. */
export interface Violation {
  readonly condition: Condition
  readonly operation: Operation
  readonly reason: string
}

// Between two readings of the clock in one call.
const TOLERANCE_MS = 1

/** Everything in a history that breaks a condition. */
export function checkHistory(history: History): Violation[] {
  const checks = history.operations.filter(({ op }) => op === 'check')
  const revocations = groupBy(
    history.operations.filter(({ op }) => op === 'revoke'),
    ({ key }) => key,
  )
  const acknowledged = new Map<string, Operation>()
  for (const [key, list] of revocations) {
    const taken = list.filter(({ result }) => result === 'ok').toSorted((one, other) => one.t1 - other.t1)
    if (taken[0] !== undefined) acknowledged.set(key, taken[0])
  }
  const isLost = createLossTest(history)
  return [
    ...checkBound(history, checks, acknowledged, isLost),
    ...checkMonotone(checks, isLost),
    ...checkCause(history, checks, revocations),
    ...checkAtOnce(history, checks, acknowledged, isLost),
    ...checkEnd(checks, acknowledged),
    ...checkSessions(history, isLost),
    ...checkAvailable(history, checks),
    ...checkAge(history, checks),
  ]
}

/** Whether a check may miss what another operation did or saw: the store lost it, and it is being restored. */
type LossTest = (earlier: Operation, check: Operation) => boolean

function createLossTest({ faults, operations, restoreMs }: History): LossTest {
  const starved = faults.filter(({ kind }) => kind === STARVED).toSorted((one, other) => one.t0 - other.t0)
  const losses = faults.flatMap(({ lost, t0, t1 }) =>
    lost === undefined
      ? []
      : [{ lost, t0, restoredAt: addRunningTime(t1, toReadAgainMs(operations, t1) + restoreMs, starved) }],
  )
  return (earlier, check) =>
    losses.some(
      ({ lost, t0, restoredAt }) =>
        // The store did its part at some moment of the call.
        earlier.t1 >= lost.from && earlier.t0 <= lost.to && check.t1 >= t0 && check.t0 <= restoredAt,
    )
}

// The moment when some time has passed in which the machine kept nobody from running.
function addRunningTime(from: number, durationMs: number, starved: readonly Fault[]): number {
  let [at, left] = [from, durationMs]
  for (const { t0, t1 } of starved) {
    if (t1 <= at) continue
    if (t0 - at >= left) break
    left -= Math.max(0, t0 - at)
    at = t1
  }
  return at + left
}

// Whether the primary that a process was led to went on for a while, without what was revoked elsewhere.
function createIsolationTest({ boundMs, faults }: History): LossTest {
  const isolations = faults.filter(({ isolated }) => isolated !== undefined)
  return (revocation, check) =>
    isolations.some(
      ({ isolated, processes }) =>
        processes?.includes(check.process) === true &&
        revocation.t1 >= Number(isolated?.from) &&
        check.t0 <= Number(isolated?.until) + boundMs,
    )
}

function* checkBound(
  history: History,
  checks: readonly Operation[],
  acknowledged: ReadonlyMap<string, Operation>,
  isLost: LossTest,
): Iterable<Violation> {
  const { boundMs } = history
  const isIsolated = createIsolationTest(history)
  for (const check of checks) {
    const revocation = acknowledged.get(check.key)
    if (revocation === undefined || check.result !== 'valid' || startsLater(check)) continue
    const late = check.t0 - revocation.t1
    if (late <= boundMs || isLost(revocation, check) || isIsolated(revocation, check)) continue
    yield {
      condition: 'C1',
      operation: check,
      reason: `valid ${Math.round(late)} ms after it was acknowledged`,
    }
  }
}

function* checkMonotone(checks: readonly Operation[], isLost: LossTest): Iterable<Violation> {
  const groups = groupBy(checks, ({ process, key, start }) => `${process} ${key} ${start ?? ''}`)
  for (const group of groups.values()) {
    let refusal: Operation | null = null
    for (const check of group.toSorted((one, other) => one.t0 - other.t0)) {
      if (check.result === 'revoked' && (refusal === null || check.t1 < refusal.t1)) refusal = check
      if (check.result !== 'valid' || refusal === null || check.t0 <= refusal.t1) continue
      // A process that was restarted knows what the store knows, and so does one that had only asked it.
      const isOther = check.life !== refusal.life || refusal.mayAsk === true || refusal.atLeast === true
      if (isOther && isLost(refusal, check)) continue
      yield {
        condition: 'C2',
        operation: check,
        reason: `valid after a refusal at ${Math.round(refusal.t1)}`,
      }
    }
  }
}

function* checkCause(
  { wallLeadMs, faults }: History,
  checks: readonly Operation[],
  revocations: ReadonlyMap<string, readonly Operation[]>,
): Iterable<Violation> {
  const leads = faults.filter(({ clockLeadMs }) => clockLeadMs !== undefined)
  // How far a watermark may reach: to the clock of the store, and to sessions that were opened while it was ahead.
  const readReach = ({ t1 }: Operation): number =>
    leads.reduce(
      (most, lead) =>
        lead.t0 <= t1 ? Math.max(most, Math.min(lead.t1, t1) + (lead.clockLeadMs ?? 0)) : most,
      t1,
    )
  for (const check of checks) {
    if (check.result !== 'revoked') continue
    const causes = (revocations.get(check.key) ?? []).filter((revocation) => {
      if (revocation.t0 >= check.t1) return false
      // A watermark is the clock of the store at some moment of the call, and of a failed one nobody knows when.
      if (!startsLater(check) || revocation.result === 'failed') return true
      return Number(check.start) <= readReach(revocation) + wallLeadMs
    })
    if (causes.length === 0)
      yield { condition: 'C3', operation: check, reason: 'refused, and nobody revoked it' }
  }
}

function* checkAtOnce(
  history: History,
  checks: readonly Operation[],
  acknowledged: ReadonlyMap<string, Operation>,
  isLost: LossTest,
): Iterable<Violation> {
  const isIsolated = createIsolationTest(history)
  for (const check of checks) {
    const revocation = acknowledged.get(check.key)
    if (revocation === undefined || check.result !== 'valid' || startsLater(check)) continue
    if (check.t0 <= revocation.t1) continue
    const isOwn = check.process === revocation.process && check.life === revocation.life
    if (isOwn) yield { condition: 'C4', operation: check, reason: 'valid at the process that revoked it' }
    else if (check.atLeast === true && !isLost(revocation, check) && !isIsolated(revocation, check)) {
      yield { condition: 'C4', operation: check, reason: 'valid with the position of the revocation' }
    }
  }
}

function* checkEnd(
  checks: readonly Operation[],
  acknowledged: ReadonlyMap<string, Operation>,
): Iterable<Violation> {
  // One that was refused may have been repeated: the last one counts.
  const last = new Map<string, Operation>()
  for (const check of checks) if (check.isFinal === true) last.set(`${check.process} ${check.key}`, check)
  for (const check of last.values()) {
    if (check.result === 'revoked' || !acknowledged.has(check.key)) continue
    const where = check.process === STORE ? 'in the store' : 'in a process'
    yield { condition: 'C5', operation: check, reason: `${check.result} ${where} at the end` }
  }
}

function* checkSessions({ operations, faults }: History, isLost: LossTest): Iterable<Violation> {
  // Nobody restores where a session stood.
  const isForgotten = ({ t0, t1 }: Operation): boolean =>
    faults.some(({ lost }) => lost !== undefined && t1 >= lost.from && t0 <= lost.to)
  const uses = operations.filter(({ op }) => op === 'rotate' || op === 'present' || op === 'end')
  for (const group of groupBy(uses, ({ key }) => key).values()) {
    const moves = new Map<string, Operation>()
    // A session whose end is lost goes on until that is restored, so the end that counts is one that is not lost.
    const ends = group.filter(
      ({ op, result }) => result === 'reused' || result === 'ended' || (op === 'end' && result === 'ok'),
    )
    for (const use of group) {
      if (use.result !== 'ok' || use.op === 'end') continue
      const end = ends.find((one) => one.t1 < use.t0 && !isLost(one, use))
      if (end !== undefined) {
        const reason = `went on after "${end.result}" at ${Math.round(end.t1)}`
        yield { condition: 'C6', operation: use, reason }
      }
      if (use.movedFrom === undefined) continue
      const first = moves.get(use.movedFrom)
      moves.set(use.movedFrom, use)
      if (first === undefined || isForgotten(first)) continue
      const reason = `moved on from ${use.movedFrom} to ${first.presented} and ${use.presented}`
      yield { condition: 'C6', operation: use, reason }
    }
  }
}

function* checkAvailable(
  { boundMs, faults, operations }: History,
  checks: readonly Operation[],
): Iterable<Violation> {
  const disturbances = faults.map(({ t0, t1, processes, lost }) => {
    const readAgainMs = lost === undefined ? 0 : toReadAgainMs(operations, t1)
    return { t0, until: t1 + 2 * boundMs + readAgainMs, processes }
  })
  for (const check of checks) {
    if (check.result !== 'unavailable' || check.isFinal === true) continue
    const isDisturbed = disturbances.some(
      ({ t0, until, processes }) =>
        t0 <= check.t1 && until >= check.t0 && (processes?.includes(check.process) ?? true),
    )
    if (!isDisturbed) yield { condition: 'C7', operation: check, reason: 'refused without a fault' }
  }
}

// How long it takes to read everything again after a loss.
function toReadAgainMs(operations: readonly Operation[], lostAt: number): number {
  return READ_AGAIN_MS * operations.filter(({ op, t1 }) => op === 'revoke' && t1 < lostAt).length
}

// For each entry, by ten processes on two cores that have other things to do.
const READ_AGAIN_MS = 0.2

function* checkAge({ boundMs, operations }: History, checks: readonly Operation[]): Iterable<Violation> {
  const toLife = ({ process, life }: Operation): string => `${process} ${life}`
  const reads = groupBy(
    operations.filter(({ op, result }) => op === 'read' && result === 'ok'),
    toLife,
  )
  const states = operations.filter(({ op }) => op === 'state')
  const answers = checks.filter(
    ({ result, mayAsk, atLeast, process }) =>
      result === 'valid' && mayAsk !== true && atLeast !== true && process !== STORE,
  )
  for (const [name, claims] of groupBy([...states, ...answers], toLife)) {
    const arrived = (reads.get(name) ?? []).toSorted((one, other) => one.t1 - other.t1)
    let next = 0
    let newest = Number.NEGATIVE_INFINITY
    for (const claim of claims.toSorted((one, other) => one.t1 - other.t1)) {
      for (; next < arrived.length && (arrived[next] as Operation).t1 <= claim.t1 + TOLERANCE_MS; next++) {
        const { t0, ageMs = 0 } = arrived[next] as Operation
        newest = Math.max(newest, t0 - ageMs)
      }
      if (claim.op === 'state' && claim.ageMs === undefined) continue
      const claimed = claim.op === 'state' ? claim.t0 - Number(claim.ageMs) : claim.t0 - boundMs
      if (claimed <= newest + TOLERANCE_MS) continue
      const reason =
        claim.op === 'state'
          ? `claims to be ${Math.round(claimed - newest)} ms younger than its reads`
          : `valid ${Math.round(claim.t0 - newest)} ms after the last complete read was sent`
      yield { condition: 'C8', operation: claim, reason }
    }
  }
}

// A token that started after the watermark was asked for, which the watermark does not concern.
function startsLater({ key, start }: Operation): boolean {
  return key.startsWith('user:') && start !== undefined && start > EARLY
}

/** The start of tokens that every watermark of a run concerns. */
export const EARLY = 1000

/** How many operations break each condition. */
export function countByCondition(violations: readonly Violation[]): Readonly<Record<Condition, number>> {
  const counts = { C1: 0, C2: 0, C3: 0, C4: 0, C5: 0, C6: 0, C7: 0, C8: 0 }
  for (const { condition } of violations) counts[condition]++
  return counts
}

function groupBy<Value>(
  values: readonly Value[],
  toName: (value: Value) => string,
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values) {
    const name = toName(value)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [value])
    else group.push(value)
  }
  return groups
}
