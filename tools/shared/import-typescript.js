import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The exports of a TypeScript file of this repository, which is bundled for that; packages are imported as they are.
 *
 * @param {string} path From the folder of the repository.
 */
export async function importTypeScript(path) {
  mkdirSync(join(ROOT, 'build'), { recursive: true })
  // Inside of the repository, so that the packages it imports are found.
  const folder = mkdtempSync(join(ROOT, 'build', 'import-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  // A signal alone would end the process without the event.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

  const outfile = join(folder, 'bundle.mjs')
  await build({
    entryPoints: [join(ROOT, path)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return import(pathToFileURL(outfile).href)
}
