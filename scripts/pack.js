import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.js'

/** The root of this repository. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** What package.json says. */
export function readManifest() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

/** Packs the built package into a folder, as `npm publish` would; `paths` are the files in it. */
export async function pack(folder) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [{ filename, size, unpackedSize, files }] = JSON.parse(await run('npm', args, root))
  return {
    tarball: join(folder, filename),
    size,
    unpackedSize,
    paths: new Set(files.map(({ path }) => path)),
  }
}

/** Makes a folder into a project with this package.json, and installs what it names. */
export async function install(folder, manifest) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ private: true, type: 'module', ...manifest }, null, 2)}\n`,
  )
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'], folder)
}
