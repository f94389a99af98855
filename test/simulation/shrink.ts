import { type Outcome, runWorld, type WorldOptions } from './world.js'

/** The fewest faults of a seed with which the first promise that it broke is still broken: none of them can be left out. */
export async function shrinkFaults(
  options: WorldOptions,
  { violations, faults }: Outcome,
): Promise<readonly number[]> {
  const [first] = violations
  if (first === undefined) throw new Error('Nothing is broken')
  const isBroken = async (numbers: readonly number[]): Promise<boolean> => {
    const outcome = await runWorld({ ...options, faults: numbers })
    return outcome.violations.some(({ promised }) => promised === first.promised)
  }
  let left = faults.filter(({ t0 }) => t0 <= first.at).map(({ number }) => number)
  if (!(await isBroken(left))) left = faults.map(({ number }) => number)
  // Parts of half the size each time, until single ones.
  for (let size = Math.ceil(left.length / 2); size > 0; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length;) {
      const rest = [...left.slice(0, from), ...left.slice(from + size)]
      if (await isBroken(rest)) left = rest
      else from += size
    }
  }
  return left
}
