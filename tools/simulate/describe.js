/** One line about a world. The rate is of all its time, with what it takes to heal at the end. */
export function describeOutcome(
  { seed, processes },
  { digest, happened, violations, exceptions, faults, endedAt },
  cpuSeconds,
) {
  const granted = [...exceptions].map(([name, count]) => `${count} × ${name}`)
  const rate = Math.round((endedAt / 1000 / cpuSeconds) * processes)
  return [
    `seed ${seed}  ${digest.slice(0, 16)}  ${Math.round(endedAt / 1000)} s in ${cpuSeconds.toFixed(1)} s of CPU`,
    `${rate} process-seconds per CPU second`,
    `${happened} events, ${faults.length} faults`,
    ...(granted.length > 0 ? [`exceptions: ${granted.join(', ')}`] : []),
    violations.length === 0 ? 'ok' : `${violations.length} VIOLATIONS`,
  ].join('; ')
}

/** The first violation of each promise, and how many there are. */
export function describeViolations({ violations }) {
  return [...groupByPromise(violations)].map(([promised, [first, ...others]]) => {
    const { application, life, op, result } = first.event
    const more = others.length > 0 ? `, and ${others.length} more` : ''
    return `  ${promised}: at ${(first.at / 1000).toFixed(3)} s, ${op} ${result} of ${application} (start ${life + 1}): ${first.reason}${more}`
  })
}

// Not by `Map.groupBy`, which Node 20 does not have.
function groupByPromise(violations) {
  const groups = new Map()
  for (const violation of violations) {
    groups.set(violation.promised, [...(groups.get(violation.promised) ?? []), violation])
  }
  return groups
}
