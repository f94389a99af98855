import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listPackages } from './packages.js'
import { root } from '../shared/root.js'
import { run } from '../shared/processes.js'

/** What the package.json of this repository says: its version, and the versions of what it is tested with. */
export function readManifest() {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
}

/** Packs a built package, one of `listPackages`, into a folder as `npm publish` would; `paths` are the files in it. */
export async function pack(one, folder) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [{ filename, size, unpackedSize, files }] = JSON.parse(await run('npm', args, join(root, one.folder)))
  return {
    ...one,
    tarball: join(folder, filename),
    size,
    unpackedSize,
    paths: new Set(files.map(({ path }) => path)),
  }
}

/** Packs every package. */
export function packAll(folder) {
  return Promise.all(listPackages().map((one) => pack(one, folder)))
}

/** Packed packages as `dependencies` of a package.json. */
export function toDependencies(packages) {
  return Object.fromEntries(packages.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`]))
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
