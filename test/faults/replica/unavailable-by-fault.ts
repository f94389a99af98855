import type { History, Operation } from './history.js'

/** For each kind of fault, the share of the checks near it that were refused, from 0 to 1. */
export function unavailableByFault({
  operations,
  faults,
  boundMs,
}: History): ReadonlyMap<string, readonly [refused: number, all: number]> {
  const shares = new Map<string, [number, number]>()
  const checks = operations.filter(({ op, isFinal }) => op === 'check' && isFinal !== true)
  const sorted = checks.toSorted((one, other) => one.t0 - other.t0)
  const times = sorted.map(({ t0 }) => t0)
  for (const fault of faults) {
    const share = shares.get(fault.kind) ?? [0, 0]
    shares.set(fault.kind, share)
    for (let at = findFirst(times, fault.t0); at < sorted.length; at++) {
      const check = sorted[at] as Operation
      if (check.t0 > fault.t1 + boundMs) break
      if (fault.processes?.includes(check.process) === false) continue
      if (check.result === 'unavailable') share[0]++
      share[1]++
    }
  }
  return shares
}

function findFirst(times: readonly number[], from: number): number {
  let [low, high] = [0, times.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] as number) < from) low = middle + 1
    else high = middle
  }
  return low
}
