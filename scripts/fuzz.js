// Has our verifier and `jose` judge the same tokens, most of them bad: exit 1 where they disagree without a reason.
// npm run fuzz [-- --seconds 30] [-- --seed S] [-- --tokens N] [-- --from N]
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
mkdirSync(join(root, 'build'), { recursive: true })
// Inside of the repository, so that the packages it imports are found.
const folder = mkdtempSync(join(root, 'build', 'fuzz-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

const outfile = join(folder, 'report-fuzz.mjs')
await build({
  entryPoints: [join(root, 'test/fuzz/report-fuzz.ts')],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
})
const { reportFuzz } = await import(pathToFileURL(outfile).href)
if ((await reportFuzz(process.argv.slice(2))) > 0) process.exitCode = 1
