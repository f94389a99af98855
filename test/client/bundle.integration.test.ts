import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { describeWithBrowsers } from '../helpers/servers/describe-with-servers.js'
import { openServer } from './open-server.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const file = createRequire(import.meta.url).resolve('@tokenlib/client/bundle')

describe('the client in one file', () => {
  test('is found by CommonJS and by ES modules', () => {
    const run = (...program: string[]) =>
      execFileSync(process.execPath, program, { cwd: root, encoding: 'utf8' }).trim()
    const required = run('-p', `require.resolve('@tokenlib/client/bundle')`)
    const imported = `import { fileURLToPath } from 'node:url'
      console.log(fileURLToPath(import.meta.resolve('@tokenlib/client/bundle')))`
    expect([required, run('--input-type=module', '-e', imported)]).toEqual([file, file])
  })

  test('imports nothing, and exports what @tokenlib/client exports', async () => {
    expect(readFileSync(file, 'utf8')).not.toMatch(/\bimport\b|\brequire\b/)
    const [bundle, client] = [
      (await import(/* @vite-ignore */ file)) as object,
      await import('../../packages/client/src/index.js'),
    ]
    expect(Object.keys(bundle).toSorted()).toEqual(Object.keys(client).toSorted())
  })
})

describeWithBrowsers('a page that loads the client as one file', (browser) => {
  test('logs in, and opens a socket', async () => {
    const { plan, origin } = await openServer({ JWT_TOKEN_LOCATION: 'cookies' })
    const headers = { 'content-type': 'text/javascript' }
    plan('GET /bundle.js', () => new Response(readFileSync(file), { headers }))
    const context = await browser().newContext()
    const page = await context.newPage()
    await page.goto(`${origin}/page`)
    const script = `(async () => {
      const { createTokenClient } = await import('/bundle.js')
      const client = createTokenClient()
      const { sub } = await client.logIn({ name: 'ada', password: 'secret' })
      const socket = client.socket('/none')
      const closed = new Promise((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)))
      await client.logOut()
      return [sub, await closed]
    })()`
    expect(await page.evaluate(script)).toEqual(['ada', 4401])
    await context.close()
  })
})
