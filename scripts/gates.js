// Builds and packs every package, then checks each release gate: one line each, exit 1 if any failed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkApi } from './gates/api.js'
import { checkClientSize } from './gates/client-size.js'
import { checkDocs } from './gates/docs.js'
import { checkDocumented } from './gates/documented.js'
import { checkExports } from './gates/exports.js'
import { checkPacked } from './gates/packed.js'
import { checkPortable } from './gates/portable.js'
import { checkPublint } from './gates/publint.js'
import { packAll, readManifest, root } from './pack.js'
import { run } from './run.js'
import { checkSize } from './gates/size.js'
import { checkTypes } from './gates/types.js'
import { checkVersionNames } from './gates/version.js'

// A gate gets the packages and returns its figure, or throws an error whose message says what is wrong.
const GATES = {
  publint: checkPublint,
  types: checkTypes,
  exports: checkExports,
  docs: checkDocs,
  documented: checkDocumented,
  api: checkApi,
  version: checkVersionNames,
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
