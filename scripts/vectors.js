// Holds every published vector against this library, and prints what came of it: exit 1 if a case is unexplained.
// npm run test:vectors
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
mkdirSync(join(root, 'build'), { recursive: true })
// Inside of the repository, so that the packages it imports are found.
const folder = mkdtempSync(join(root, 'build', 'vectors-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

const outfile = join(folder, 'run-vectors.mjs')
await build({
  entryPoints: [join(root, 'test/vectors/run-vectors.ts')],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
})
const { runVectors } = await import(pathToFileURL(outfile).href)
if (runVectors(join(root, '../shared/vectors')) > 0) process.exitCode = 1
