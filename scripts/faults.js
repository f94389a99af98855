// Hurts real servers and processes, and holds what comes of it against the promises: exit 1 if one is broken.
// npm run faults [-- --only <scenario>] [-- --quick]
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
mkdirSync(join(root, 'build'), { recursive: true })
// Inside of the repository, so that the packages it imports are found.
const folder = mkdtempSync(join(root, 'build', 'faults-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

const outfile = join(folder, 'run-faults.mjs')
await build({
  entryPoints: [join(root, 'test/faults/run-faults.ts')],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
})
const { runFaults } = await import(pathToFileURL(outfile).href)
if ((await runFaults(process.argv.slice(2))) > 0) process.exitCode = 1
