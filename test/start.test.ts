import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applicationContract } from 'tokenlib/testing'

const MAIN = fileURLToPath(new URL('../build/examples/main.js', import.meta.url))

/** The example application as `npm start` runs it: the built package in a process of its own. */
async function start(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, '--port', '0', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.resume()
  while (!output.includes('Stop with Ctrl-C')) await once(child.stdout, 'data')
  const url = /http:\/\/[\d.]+:\d+/.exec(output)?.[0] ?? ''
  return { child, url, output: () => output, close: () => stop(child) }
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGINT')
  await once(child, 'exit')
}

applicationContract(
  'npm start',
  ({ profile, handleErrors }) => start('--profile', profile, ...(handleErrors ? ['--handle-errors'] : [])),
  { afterAll, beforeAll, describe, test },
)

test('npm start prints its address, a curl command for each route, and where the blocklist is', async () => {
  const app = await start('--framework', 'fetch')
  try {
    for (const route of [
      '/token/mandatory',
      '/token/optional',
      '/profile',
      '/me',
      '/token',
      '/login',
      '/refresh',
      '/logout',
    ]) {
      expect(app.output()).toMatch(new RegExp(`curl .*${app.url}${route}$`, 'm'))
    }
    expect(app.output()).toContain('in memory')
  } finally {
    await app.close()
  }
})

test('SIGINT ends it cleanly, also with a connection open', async () => {
  const app = await start()
  await (await fetch(`${app.url}/token`)).text()
  app.child.kill('SIGINT')
  const [code] = (await once(app.child, 'exit')) as [number]
  expect(code).toBe(0)
  expect(app.output()).toContain('Stopped.')
})

test.each([
  [['--framework', 'django'], /--framework takes one of/],
  [['--profile', 'x'], /--profile takes one of/],
  [['--port', 'x'], /--port takes a number/],
  [['--nonsense'], /nonsense/],
])('%j is refused with a line that says why', async (args, message) => {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(2)
  expect(errors).toMatch(message)
})
