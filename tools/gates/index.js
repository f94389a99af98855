// Builds and packs every package, then checks each release gate: one line each, exit 1 if any failed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkApi } from './api.js'
import { checkClientSize } from './client-size.js'
import { checkDocs } from './docs.js'
import { checkDocumented } from './documented.js'
import { checkExports } from './exports.js'
import { checkPacked } from './packed.js'
import { checkPortable } from './portable.js'
import { checkPublint } from './publint.js'
import { packAll, readManifest } from '../packages/pack.js'
import { root } from '../shared/root.js'
import { run } from '../shared/processes.js'
import { checkSize } from './size.js'
import { checkTypes } from './types.js'
import { checkVersionsAgree } from '../release/versions-agree.js'

// A gate gets the packages and returns its figure, or throws an error whose message says what is wrong.
const GATES = {
  publint: checkPublint,
  types: checkTypes,
  exports: checkExports,
  docs: checkDocs,
  documented: checkDocumented,
  api: checkApi,
  version: ({ manifest }) => checkVersionsAgree(manifest),
  packed: checkPacked,
  size: checkSize,
  'client size': checkClientSize,
  portable: checkPortable,
}

const folder = mkdtempSync(join(tmpdir(), 'tokenlib-gates-'))
try {
  await pass('build', () => run('npm', ['run', 'build', '--silent'], root))
  if (process.exitCode !== 1) {
    const context = await createContext()
    for (const [name, check] of Object.entries(GATES)) await pass(name, () => check(context))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** What every gate receives: the packed packages, and `folder`, which is temporary and shared. */
async function createContext() {
  const recordSize = process.argv.includes('--record-size')
  return { root, folder, recordSize, manifest: readManifest(), packages: await packAll(folder) }
}

async function pass(name, check) {
  try {
    console.log(`ok    ${name}: ${(await check()) || 'done'}`)
  } catch (error) {
    process.exitCode = 1
    console.log(`FAIL  ${name}: ${error.message.trim().replaceAll('\n', '\n      ')}`)
  }
}
