import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startBuilt } from './start-built.js'

const folder = mkdtempSync(join(tmpdir(), 'tokenlib-built-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Pair {
  readonly access_token: string
  readonly refresh_token: string
}

// The contract runs on the source, in every framework. The gates check what the packages export and contain.
test.each(['nest', 'fastify'])(
  'the built application logs in, refreshes and logs out, in %s',
  async (framework) => {
    const app = await startBuilt(folder, ['--framework', framework, '--handle-errors'])
    const send = async (method: string, path: string, token: string): Promise<unknown> => {
      const response = await fetch(app.url + path, { method, headers: { authorization: `Bearer ${token}` } })
      const body = (await response.json()) as { code?: string }
      return response.ok ? body : [response.status, body.code]
    }
    try {
      const login = await fetch(`${app.url}/login`, { method: 'POST' })
      const { access_token: first, refresh_token: refresh } = (await login.json()) as Pair
      expect(await send('GET', '/me', first)).toEqual({ id: 'ada', age: 36, foo: 'bar' })
      expect(await send('GET', '/me', refresh)).toEqual([401, 'ACCESS_TOKEN_REQUIRED'])
      expect(await send('GET', '/me', `${first.slice(0, -4)}AAAA`)).toEqual([401, 'TOKEN_SIGNATURE_INVALID'])

      const second = (await send('POST', '/refresh', refresh)) as Pair
      expect(await send('GET', '/me', second.access_token)).toEqual({ id: 'ada', age: 36, foo: 'bar' })
      expect(await send('DELETE', '/logout', second.access_token)).toBe('OK')
      for (const token of [first, second.access_token]) {
        expect(await send('GET', '/me', token)).toEqual([401, 'TOKEN_REVOKED'])
      }
      expect(await send('POST', '/refresh', second.refresh_token)).toEqual([401, 'TOKEN_REVOKED'])
    } finally {
      await app.close()
    }
  },
)
