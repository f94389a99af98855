// The packages of this repository and their public entry points. `paths` of tsconfig.json is the table they come from.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../shared/root.js'

// What else a package publishes: a program, and a file to serve.
const OTHER_ENTRIES = { cli: { main: 'packages/cli/src/main.ts' } }

const NAMES = ['tokenlib', 'client', 'issuers', 'console', 'contracts', 'cli']

/**
 * Every package: its folder from the root, what its package.json says, and its entries by name, such as
 * `{ index: 'packages/client/src/index.ts' }`.
 */
export function listPackages() {
  const { compilerOptions } = readJson(join(root, 'tsconfig.json'))
  const sources = Object.entries(compilerOptions.paths)
  return NAMES.map((name) => {
    const folder = `packages/${name}`
    const manifest = readJson(join(root, folder, 'package.json'))
    const entries = sources.flatMap(([specifier, [source]]) => {
      if (specifier !== manifest.name && !specifier.startsWith(`${manifest.name}/`)) return []
      const entry = specifier.slice(manifest.name.length + 1) || 'index'
      return [[entry, source.replace('./', '')]]
    })
    return { name, folder, manifest, entries: { ...Object.fromEntries(entries), ...OTHER_ENTRIES[name] } }
  })
}

/** The package of a folder below `packages`. */
export function findPackage(name) {
  return listPackages().find((one) => one.name === name)
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}
