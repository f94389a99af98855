import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'
import { listPackages } from '../packages/packages.js'
import { root } from '../shared/root.js'

const FOLDER = join(root, 'build/house')

/**
 * Which source files run code in each walk of `walk-program.js`.
 *
 * Bundles hide files. So the sources are compiled one by one into a folder that looks like installed packages.
 */
export async function measureWalks() {
  rmSync(FOLDER, { recursive: true, force: true })
  for (const one of listPackages()) await compile(one)
  copyFileSync(new URL('walk-program.js', import.meta.url), join(FOLDER, 'walk-program.js'))
  return JSON.parse(execFileSync(process.execPath, ['walk-program.js'], { cwd: FOLDER, encoding: 'utf8' }))
}

async function compile({ folder, manifest, entries }) {
  const source = join(root, folder, 'src')
  const installed = join(FOLDER, 'node_modules', manifest.name)
  const files = readdirSync(source, { recursive: true }).filter((path) => path.endsWith('.ts'))
  await build({
    entryPoints: files.map((path) => join(source, path)),
    outbase: source,
    outdir: join(installed, 'src'),
    format: 'esm',
    target: 'es2023',
    logLevel: 'error',
  })
  const exports = Object.entries(entries).map(([entry, file]) => [
    entry === 'index' ? '.' : `./${entry}`,
    `./${relative(join(root, folder), join(root, file)).replace(/\.ts$/, '.js')}`,
  ])
  mkdirSync(installed, { recursive: true })
  writeFileSync(
    join(installed, 'package.json'),
    JSON.stringify({ name: manifest.name, type: 'module', exports: Object.fromEntries(exports) }),
  )
}
