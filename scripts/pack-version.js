// Packs the package of an earlier commit for test/upgrades: node scripts/pack-version.js <commit>
// It is built with the packages that are installed now, in a temporary work tree of that commit.
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './pack.js'
import { run } from './run.js'

const [commit] = process.argv.slice(2)
if (commit === undefined) {
  console.error('node scripts/pack-version.js <commit>')
  process.exit(2)
}

const folder = join(mkdtempSync(join(tmpdir(), 'tokenlib-version-')), 'tree')
const destination = join(root, 'test', 'upgrades')
try {
  await run('git', ['worktree', 'add', '--detach', folder, commit], root)
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  await run('npm', ['run', 'build'], folder)
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', destination]
  const [{ filename, size }] = JSON.parse(await run('npm', args, folder))
  const hash = (await run('git', ['rev-parse', commit], root)).trim()
  console.log(`test/upgrades/${filename}: ${size} bytes, commit ${hash}`)
} finally {
  await run('git', ['worktree', 'remove', '--force', folder], root)
  rmSync(join(folder, '..'), { recursive: true, force: true })
}
