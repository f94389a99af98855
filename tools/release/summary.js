/** Prints a line for each step, the whole time, and loudly what was left out. */
export function printSummary(results) {
  const width = Math.max(...results.map(({ name }) => name.length))
  const total = results.reduce((sum, { seconds }) => sum + seconds, 0)
  console.log(`\n${'step'.padEnd(width)}  result   seconds`)
  for (const { name, outcome, seconds } of results) {
    console.log(`${name.padEnd(width)}  ${outcome.padEnd(7)}  ${seconds.toFixed(1).padStart(7)}`)
  }
  console.log(`${'total'.padEnd(width)}  ${''.padEnd(7)}  ${total.toFixed(1).padStart(7)}`)

  const [failed, skipped] = ['FAIL', 'SKIPPED'].map((outcome) =>
    results.filter((one) => one.outcome === outcome),
  )
  if (failed.length > 0) console.log(`\n${failed.length} FAILED: ${toNames(failed)}`)
  if (skipped.length > 0)
    console.log(`\n${skipped.length} NOT RUN: ${toNames(skipped)}. This says nothing about them.`)
}

/** Prints what happens after a dry run that passed. */
export function printNextSteps(version) {
  console.log(`
A real release:
  1. npm run release            the same steps, all of them; then it asks, and creates the tag v${version} here
  2. git push origin v${version}    starts the workflow "Release"
  3. The workflow runs .ci/run, publishes to npm with provenance, and creates the GitHub release with the tarball,
     the list of components and the section of the changelog. Nothing is published from this machine.`)
}

function toNames(results) {
  return results.map(({ name }) => name).join(', ')
}
