import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { startProgram } from '../../tools/shared/processes.js'
import { SECRET } from './fixtures.js'

/** The arguments that each guide names, and nothing else: no permission more. */
export const GUIDE_ARGUMENTS = {
  bun: (file) => [file],
  deno: (file) => [
    'run',
    '--allow-net',
    '--allow-env=JWT_SECRET_KEY,DATABASE_PATH,PORT',
    '--allow-read=.',
    '--allow-write=.',
    '--allow-sys=statfs',
    file,
  ],
}

/** Runs the application of a guide: login, refresh and logout, and a restart that forgets nothing. */
export function declareGuide(name, { cwd, binary }, runner) {
  runner.test('logs in, refreshes, logs out, and remembers it after a restart', async () => {
    const env = { DATABASE_PATH: `${name}.sqlite`, JWT_SECRET_KEY: SECRET, PORT: '0' }
    const start = () => startProgram([binary, ...GUIDE_ARGUMENTS[name](`${name}.js`)], { cwd, env })
    let app = await start()
    const send = (method, path, token) =>
      fetch(app.url + path, {
        method,
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      })
    try {
      strictEqual((await send('GET', '/me')).status, 401)
      const first = await (await send('POST', '/login')).json()
      const pair = await (await send('POST', '/refresh', first.refreshToken)).json()
      const other = await (await send('POST', '/login')).json()
      deepStrictEqual(await (await send('GET', '/me', pair.accessToken)).json(), { id: 'ada' })
      strictEqual((await send('DELETE', '/logout', pair.accessToken)).status, 204)
      strictEqual((await send('GET', '/me', pair.accessToken)).status, 401)
      await app.close()
      app = await start()
      strictEqual((await send('GET', '/me', pair.accessToken)).status, 401)
      strictEqual((await send('POST', '/refresh', pair.refreshToken)).status, 401)
      strictEqual((await send('GET', '/me', other.accessToken)).status, 200)
    } finally {
      await app.close()
    }
  })
}
