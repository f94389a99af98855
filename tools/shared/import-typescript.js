import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { root } from './root.js'

/**
 * The exports of a TypeScript file of this repository, which is bundled for that; packages are imported as they are.
 *
 * @param {string} path From the folder of the repository.
 */
export async function importTypeScript(path) {
  mkdirSync(join(root, 'build'), { recursive: true })
  // Inside of the repository, so that the packages it imports are found.
  const folder = mkdtempSync(join(root, 'build', 'import-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  // A signal alone would end the process without the event.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))

  const outfile = join(folder, 'bundle.mjs')
  await bundleTypeScript(path, outfile)
  return import(pathToFileURL(outfile).href)
}

/**
 * Bundles a TypeScript file of this repository for Node; packages are imported as they are.
 *
 * @param {string} path From the folder of the repository.
 * @param {string} outfile
 * @param {import('esbuild').Plugin[]} plugins
 */
export async function bundleTypeScript(path, outfile, plugins = []) {
  await build({
    entryPoints: [join(root, path)],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
    plugins,
  })
}
