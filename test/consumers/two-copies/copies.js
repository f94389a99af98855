import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const manifest = require.resolve('tokenlib/package.json')
const { exports } = require(manifest)

/** An entry point of the ES modules, and the same one of the CommonJS build, which Node itself would never load. */
export async function loadCopies(subpath) {
  const file = join(dirname(manifest), exports[subpath].require.default)
  return { esModule: await import(subpath.replace('.', 'tokenlib')), commonJs: require(file) }
}

/** Which copy a manager comes from, and which everything around it. */
export const PAIRS = [
  ['esModule', 'commonJs'],
  ['commonJs', 'esModule'],
]
