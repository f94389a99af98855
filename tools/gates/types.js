import { run } from '../shared/processes.js'
import { ASSETS } from '../packages/entries.js'

const OPTIONS = [
  '--exclude-entrypoints',
  ...ASSETS,
  '--no-definitely-typed',
  '--format',
  'ascii',
  '--no-color',
  '--no-emoji',
]

/** Are the types wrong? Every entry point resolves to its types in each resolution: node10, node16 from CommonJS and ES modules, bundler. */
export async function checkTypes({ root, packages }) {
  let entryPoints = 0
  for (const { manifest, tarball } of packages) {
    if (manifest.types === undefined) continue
    const report = await run('npx', ['--no', 'attw', tarball, ...OPTIONS], root)
    entryPoints += report.match(/^"/gm).length
  }
  return `${entryPoints} entry points resolve`
}
