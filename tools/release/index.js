// Checks that this commit can be released, and tags it; the workflow of the tag publishes (CONTRIBUTING.md, Releases).
// npm run release -- --dry-run [--skip-tests] [--skip-clone-tests] [--only <step>,…] [--date YYYY-MM-DD]
//   [--compatible <declaration>,…]
import { parseArgs } from 'node:util'
import { readManifest } from '../packages/pack.js'
import { runTool } from '../shared/report.js'
import { checkApiChanges } from './api-changes.js'
import { checkChangelog } from './changelog.js'
import { readLine, runScript } from './commands.js'
import { writeComponents } from './components.js'
import { checkCloneTests, checkStart } from './fresh-clone.js'
import { checkTree, checkVersion, readLastTag } from './repository.js'
import { printNextSteps, printSummary } from './summary.js'
import { createTag } from './tag.js'
import { checkTarballs } from './tarball.js'
import { checkVersionsAgree } from './versions-agree.js'

// A step gets the release and returns what it found, or throws an error that says what to do. Quick steps are first.
// `needs` names a step without which it cannot run, `skip` the option that leaves it out.
const STEPS = {
  tree: { run: checkTree },
  version: { run: checkVersion },
  versions: { run: checkVersionsAgree },
  changelog: { run: checkChangelog },
  'api changes': { run: checkApiChanges },
  build: { run: () => runScript('build').then(() => 'every package') },
  lint: { run: () => runScript('lint').then(() => 'no findings'), needs: 'build' },
  typecheck: { run: () => runScript('typecheck').then(() => 'no errors'), needs: 'build' },
  // They include the check of the API reports.
  gates: { run: () => runScript('gates').then(countGates), needs: 'build' },
  tarball: { run: checkTarballs, needs: 'build' },
  components: { run: writeComponents, needs: 'build' },
  start: { run: checkStart },
  tests: { run: () => runScript('test:all').then(countTests), needs: 'build', skip: 'skip-tests' },
  'clone tests': { run: checkCloneTests, skip: 'skip-clone-tests' },
}

async function release() {
  const options = parseOptions()
  const { version } = readManifest()
  const context = { version, lastTag: await readLastTag(version), ...options }
  console.log(`tokenlib ${version}${options.isDryRun ? ', dry run: nothing is tagged or published' : ''}\n`)

  const results = []
  for (const [name, step] of Object.entries(STEPS)) {
    const result = await runStep(name, step, context, results)
    results.push(result)
    if (!isLeftOut(name, context)) {
      console.log(`${result.outcome.padEnd(7)} ${name}: ${result.text.replaceAll('\n', '\n        ')}`)
    }
  }
  printSummary(results)

  const isComplete = results.every(({ outcome }) => outcome === 'ok')
  if (options.isDryRun) printNextSteps(version)
  else if (isComplete) await createTag(context)
  else console.log('\nNo tag is created: every step must run and pass.')
  return results.some(({ outcome }) => outcome === 'FAIL') || (!options.isDryRun && !isComplete) ? 1 : 0
}

async function runStep(name, { run, needs, skip }, context, results) {
  if (isLeftOut(name, context)) {
    return { name, outcome: 'SKIPPED', text: 'NOT RUN because of --only', seconds: 0 }
  }
  if (context.skipped.includes(skip)) {
    return { name, outcome: 'SKIPPED', text: `NOT RUN because of --${skip}`, seconds: 0 }
  }
  if (results.some((one) => one.name === needs && one.outcome === 'FAIL')) {
    return { name, outcome: 'FAIL', text: `not run, because "${needs}" failed`, seconds: 0 }
  }
  const start = performance.now()
  const toResult = (outcome, text) => ({ name, outcome, text, seconds: (performance.now() - start) / 1000 })
  try {
    return toResult('ok', await run(context))
  } catch (error) {
    return toResult('FAIL', error.message.trim())
  }
}

function isLeftOut(name, { only }) {
  return only !== null && !only.includes(name)
}

function parseOptions() {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      'skip-tests': { type: 'boolean', default: false },
      'skip-clone-tests': { type: 'boolean', default: false },
      only: { type: 'string' },
      date: { type: 'string', default: new Date().toISOString().slice(0, 10) },
      compatible: { type: 'string' },
    },
  })
  if (!/^\d{4}-\d{2}-\d{2}$/.test(values.date)) throw new Error('--date must be a date such as 2026-11-16')
  const only = values.only === undefined ? null : toList(values.only)
  const unknown = (only ?? []).filter((name) => !Object.hasOwn(STEPS, name))
  if (unknown.length > 0) {
    throw new Error(`Unknown step: ${unknown.join(', ')}. Steps are: ${Object.keys(STEPS).join(', ')}`)
  }
  return {
    isDryRun: values['dry-run'],
    date: values.date,
    only,
    compatible: toList(values.compatible ?? ''),
    skipped: ['skip-tests', 'skip-clone-tests'].filter((name) => values[name]),
  }
}

function toList(text) {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)
}

function countGates(output) {
  return `${output.match(/^ok {4}/gm)?.length ?? 0} passed`
}

function countTests(output) {
  return readLine(output, /^\s*Tests? .*passed/, 'passed')
}

await runTool(release, 2)
