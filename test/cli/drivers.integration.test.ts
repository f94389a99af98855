import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { folderWith, MAIN, newFolder, plantPackage, tokenlib } from './run-program.js'

beforeAll(() => {
  if (!existsSync(MAIN)) throw new Error('packages/cli/dist/main.js does not exist: npm run build')
})

const STORES = [
  ['ioredis', 'redis://127.0.0.1:1'],
  ['redis', 'redis://127.0.0.1:1'],
  ['pg', 'postgres://127.0.0.1:1/app'],
  ['postgres', 'postgres://127.0.0.1:1/app'],
  ['mysql2', 'mysql://127.0.0.1:1/app'],
  ['mariadb', 'mysql://127.0.0.1:1/app'],
  ['mariadb', 'mariadb://127.0.0.1:1/app'],
] as const

test.each(STORES)('%s of a folder above is not loaded', async (driver, store) => {
  const parent = newFolder()
  const cwd = join(parent, 'project')
  mkdirSync(join(cwd, 'node_modules'), { recursive: true })
  const stolen = join(parent, 'stolen.txt')
  const code = `require('node:fs').writeFileSync(${JSON.stringify(stolen)}, process.env.TOKENLIB_STORE ?? '')`
  // Where Node looks as well: https://nodejs.org/api/modules.html#loading-from-the-global-folders
  plantPackage(parent, driver, code)
  plantPackage(parent, driver, code, '.node_modules')
  plantPackage(parent, driver, code, 'global')
  const env = { TOKENLIB_STORE: store, HOME: parent, NODE_PATH: join(parent, 'global') }
  const { exitCode, stderr } = await tokenlib(['sessions', 'ada'], { cwd, env })
  expect(exitCode).toBe(2)
  expect(stderr).toContain(join(cwd, 'node_modules'))
  expect(stderr).toContain('--drivers <folder>')
  expect(existsSync(stolen)).toBe(false)
})

test('a package that the start folder has only in part is not taken from a folder above', async () => {
  const parent = newFolder()
  const cwd = join(parent, 'project')
  mkdirSync(join(cwd, 'node_modules/ioredis'), { recursive: true })
  // Its main file is missing, so Node goes on to the folder above.
  writeFileSync(join(cwd, 'node_modules/ioredis/package.json'), '{ "name": "ioredis", "main": "gone.js" }')
  plantPackage(parent, 'ioredis', `throw new Error('planted')`)
  const { exitCode, stderr } = await tokenlib(['prune', '--store', 'redis://127.0.0.1:1'], { cwd })
  expect([exitCode, stderr.includes('planted')]).toEqual([2, false])
})

test.each(STORES)('%s of a folder that --drivers names is loaded', async (driver, store) => {
  const root = folderWith(driver)
  const cwd = join(root, 'packages/api')
  mkdirSync(cwd, { recursive: true })
  // A workspace, whose packages are hoisted to its root; relative to the folder in which the command starts.
  for (const folder of [root, '../..']) {
    const { exitCode, stderr } = await tokenlib(['prune', '--store', store, '--drivers', folder], { cwd })
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('connect ECONNREFUSED 127.0.0.1:1')])
  }
})

test('a start folder that is itself a link is the folder that it leads to', async () => {
  const root = folderWith('ioredis')
  const cwd = join(newFolder(), 'link')
  symlinkSync(root, cwd)
  expect((await tokenlib(['prune', '--store', 'redis://127.0.0.1:1'], { cwd })).exitCode).toBe(3)
})
