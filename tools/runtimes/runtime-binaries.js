// JavaScript runtimes from npm packages that carry the binaries, so that nobody has to install one by hand.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { install } from '../packages/pack.js'
import { root } from '../shared/root.js'

const VERSIONS = {
  node20: '20.19.6',
  node22: '22.23.3',
  node24: '24.21.0',
  node26: '26.10.0',
  bun: '1.4.4',
  deno: '2.9.5',
  workerd: '1.20261104.1',
}

const { platform, arch } = process
const onWindows = platform === 'win32'
const suffix = onWindows ? '.exe' : ''
const folder = join(root, 'build/runtimes')

const PACKAGES = {
  node: { name: `node-${onWindows ? 'win' : platform}-${arch}`, file: `bin/node${suffix}` },
  bun: {
    name: `@oven/bun-${onWindows ? 'windows' : platform}-${arch === 'arm64' ? 'aarch64' : arch}`,
    file: `bin/bun${suffix}`,
  },
  deno: { name: `@deno/${platform}-${arch}${platform === 'linux' ? '-glibc' : ''}`, file: `deno${suffix}` },
  workerd: {
    name: `@cloudflare/workerd-${onWindows ? 'windows' : platform}-${arch === 'x64' ? '64' : arch}`,
    file: `bin/workerd${suffix}`,
  },
}

/** The names of the runtimes that `installRuntimes` knows: `node22`, `bun`, `deno`, `workerd` and others. */
export const RUNTIMES = Object.keys(VERSIONS)

/** Installs every runtime once into build/runtimes; returns the path of its binary by its name. */
export async function installRuntimes() {
  const dependencies = Object.fromEntries(
    RUNTIMES.map((name) => [name, `npm:${packageOf(name).name}@${VERSIONS[name]}`]),
  )
  if (!isInstalled(dependencies)) await install(folder, { dependencies })
  return Object.fromEntries(
    RUNTIMES.map((name) => [name, join(folder, 'node_modules', name, packageOf(name).file)]),
  )
}

/** The path of one runtime that is installed, or `null`. */
export function findRuntime(name) {
  const { file } = packageOf(name)
  const paths = [folder, aloneFolder(name)].map((place) => join(place, 'node_modules', name, file))
  return paths.find((path) => existsSync(path)) ?? null
}

/** Installs one runtime, for a test that needs no other; returns the path of its binary. */
export async function installRuntime(name) {
  const found = findRuntime(name)
  if (found !== null) return found
  const dependencies = { [name]: `npm:${packageOf(name).name}@${VERSIONS[name]}` }
  await install(aloneFolder(name), { dependencies })
  return join(aloneFolder(name), 'node_modules', name, packageOf(name).file)
}

function aloneFolder(name) {
  return join(root, 'build', `runtime-${name}`)
}

function isInstalled(dependencies) {
  const manifest = join(folder, 'package.json')
  if (!existsSync(join(folder, 'node_modules/.package-lock.json')) || !existsSync(manifest)) return false
  const { dependencies: installed } = JSON.parse(readFileSync(manifest, 'utf8'))
  return JSON.stringify(installed) === JSON.stringify(dependencies)
}

function packageOf(runtime) {
  return PACKAGES[runtime.replace(/\d+$/, '')]
}
