// The Edge runtime has no node:crypto: a build for it must fail, and say what to do.
import { strict as assert } from 'node:assert'
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { runProgram } from './shared/server.mjs'

renameSync('edge', '.edge')
for (const [file, target] of [
  ['middleware.ts', 'middleware.ts'],
  ['route.ts', 'app/api/me/route.ts'],
]) {
  mkdirSync(dirname(target), { recursive: true })
  cpSync(`.edge/${file}`, target)
  for (const bundler of ['--turbopack', '--webpack']) {
    const { code, output } = await runProgram('npx', ['next', 'build', bundler])
    console.log(output)
    assert.notEqual(code, 0, `${file} was built with ${bundler}`)
    assert.match(output, /tokenlib needs the Node\.js runtime/)
    assert.match(output, /`runtime` to 'nodejs' in the config of middleware\.ts/)
  }
  rmSync(target)
}
