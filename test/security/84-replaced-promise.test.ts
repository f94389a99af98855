import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { enforce as enforceExpress } from '../../packages/tokenlib/src/frameworks/express.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { readLibraryFiles } from '../helpers/library-files.js'
import { SECRET } from './harness/forge.js'

// As zone.js does: what async functions return is then no instance of the global.
const original = globalThis.Promise
class OtherPromise<Value> extends Promise<Value> {}

const withToken = (token: string) => ({ method: 'GET', headers: { authorization: `Bearer ${token}` } })

describe('where somebody has replaced the global Promise', () => {
  beforeEach(() => void (globalThis.Promise = OtherPromise as PromiseConstructor))
  afterEach(() => void (globalThis.Promise = original))

  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })

  test.each<[string, string, () => boolean | Promise<boolean>]>([
    ['a callback that answers later', 'TOKEN_REVOKED', async () => true],
    ['a callback that answers immediately', 'TOKEN_REVOKED', () => true],
    [
      'a callback that fails',
      'REVOCATION_UNAVAILABLE',
      async () => {
        throw new Error('gone')
      },
    ],
  ])('%s still refuses', async (_, code, callback) => {
    const tokens = new TokenManager({ config })
    tokens.setCallbackTokenBlocklist(callback)
    const token = tokens.createAccessToken({ uid: 'ada' })
    await expect(tokens.accessTokenRequired(withToken(token))).rejects.toMatchObject({ code })
    await expect(tokens.verify(token)).rejects.toMatchObject({ code })
    const passed: unknown[] = []
    await enforceExpress(tokens.accessTokenRequired)(withToken(token) as never, {} as never, (error) =>
      passed.push(error),
    )
    expect(passed).toMatchObject([{ code }])
  })

  test('a store still refuses', async () => {
    const tokens = new TokenManager({ config, store: createMemoryStore() })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const payload = await tokens.accessTokenRequired(withToken(accessToken))
    expect(payload.sub).toBe('ada')
    await tokens.logout(payload)
    await expect(tokens.accessTokenRequired(withToken(accessToken))).rejects.toMatchObject({
      code: 'TOKEN_REVOKED',
    })
  })

  test('a token in a body is still found, and a missing one still missed', async () => {
    const bodies = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_TOKEN_LOCATION: ['json', 'headers'] }),
    })
    const request = (body: object) => ({
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const token = bodies.createAccessToken({ uid: 'ada' })
    expect((await bodies.accessTokenRequired(request({ access_token: token }))).sub).toBe('ada')
    await expect(bodies.accessTokenRequired(request({}))).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })
})

test('no source asks whether something is an instance of Promise', () => {
  expect(
    readLibraryFiles()
      .filter(({ text }) => /instanceof\s+Promise\b/.test(text))
      .map(({ path }) => path),
  ).toEqual([])
})
