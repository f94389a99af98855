import { describe, expect, test, beforeAll, afterAll } from 'vitest'

/** A running application; `url` has no trailing slash. */
export interface RunningApplication {
  readonly url: string
  close(): Promise<void>
}

/** How the application under test is started; the options are those of `npm start`. */
export type StartApplication = (options: {
  readonly profile: 'message' | 'payload'
  readonly handleErrors: boolean
}) => Promise<RunningApplication>

type Credential = 'none' | 'valid' | 'revoked' | 'garbage' | 'refresh'

interface Row {
  readonly method: string
  readonly path: string
  readonly token: Credential
  /** The status when the application does not handle errors. */
  readonly unhandled: number
  /** Status and code when it does. */
  readonly handled: readonly [status: number, code?: string]
}

// Specification 4.2 with its behaviour rules, and the table of section 7.
const ROWS: readonly Row[] = [
  { method: 'GET', path: '/token/mandatory', token: 'valid', unhandled: 200, handled: [200] },
  { method: 'GET', path: '/token/mandatory', token: 'none', unhandled: 500, handled: [401, 'TOKEN_MISSING'] },
  {
    method: 'GET',
    path: '/token/mandatory',
    token: 'revoked',
    unhandled: 500,
    handled: [401, 'TOKEN_REVOKED'],
  },
  {
    method: 'GET',
    path: '/token/mandatory',
    token: 'garbage',
    unhandled: 500,
    handled: [401, 'TOKEN_INVALID'],
  },
  {
    method: 'GET',
    path: '/token/mandatory',
    token: 'refresh',
    unhandled: 500,
    handled: [401, 'ACCESS_TOKEN_REQUIRED'],
  },
  { method: 'GET', path: '/token/optional', token: 'none', unhandled: 200, handled: [200] },
  { method: 'GET', path: '/token/optional', token: 'valid', unhandled: 200, handled: [200] },
  { method: 'GET', path: '/token/optional', token: 'revoked', unhandled: 200, handled: [200] },
  { method: 'GET', path: '/token/optional', token: 'garbage', unhandled: 200, handled: [200] },
  { method: 'GET', path: '/profile', token: 'valid', unhandled: 200, handled: [200] },
  { method: 'GET', path: '/profile', token: 'none', unhandled: 500, handled: [401, 'TOKEN_MISSING'] },
  { method: 'GET', path: '/profile', token: 'revoked', unhandled: 500, handled: [401, 'TOKEN_REVOKED'] },
  { method: 'GET', path: '/profile', token: 'garbage', unhandled: 500, handled: [401, 'TOKEN_INVALID'] },
  { method: 'GET', path: '/me', token: 'valid', unhandled: 200, handled: [200] },
  { method: 'GET', path: '/me', token: 'revoked', unhandled: 500, handled: [401, 'TOKEN_REVOKED'] },
  { method: 'GET', path: '/token', token: 'none', unhandled: 200, handled: [200] },
  { method: 'DELETE', path: '/logout', token: 'valid', unhandled: 200, handled: [200] },
  { method: 'DELETE', path: '/logout', token: 'none', unhandled: 500, handled: [401, 'TOKEN_MISSING'] },
  { method: 'DELETE', path: '/logout', token: 'revoked', unhandled: 500, handled: [401, 'TOKEN_REVOKED'] },
  { method: 'DELETE', path: '/logout', token: 'garbage', unhandled: 500, handled: [401, 'TOKEN_INVALID'] },
  { method: 'POST', path: '/login', token: 'none', unhandled: 200, handled: [200] },
  { method: 'POST', path: '/refresh', token: 'refresh', unhandled: 200, handled: [200] },
  {
    method: 'POST',
    path: '/refresh',
    token: 'valid',
    unhandled: 500,
    handled: [401, 'REFRESH_TOKEN_REQUIRED'],
  },
  { method: 'POST', path: '/refresh', token: 'none', unhandled: 500, handled: [401, 'TOKEN_MISSING'] },
]

/** Drives one implementation of the specification's application over real HTTP. */
export function applicationContract(name: string, start: StartApplication): void {
  describe.each([false, true])(`${name}, errors handled: %s`, (handleErrors) => {
    let app: RunningApplication
    let client: Client
    beforeAll(async () => {
      app = await start({ profile: 'message', handleErrors })
      client = createClient(app.url)
    })
    afterAll(() => app.close())

    test.each(ROWS)('ERR-01 RAW-04 RAW-06 REV-16 $method $path with token: $token', async (row) => {
      const { method, path } = row
      const [status, code] = handleErrors ? row.handled : [row.unhandled]
      const response = await client.send(method, path, await client.credential(row.token))
      expect(response.status).toBe(status)
      if (code !== undefined) {
        expect(await response.json()).toMatchObject({ code })
        expect(response.headers.get('www-authenticate')).toMatch(
          code === 'TOKEN_MISSING' ? /^Bearer realm="api"$/ : /^Bearer .*error="/,
        )
      }
    })

    test('RAW-05 the token and its location are named, as a JSON string', async () => {
      const token = await client.credential('valid')
      const expected = `Your token is: ${token} and is located in headers`
      expect(await client.json('GET', '/token/mandatory', token)).toBe(expected)
      expect(await client.json('GET', '/token/optional', token)).toBe(expected)
      expect(await client.json('GET', '/token/optional')).toBe('No token found')
    })

    test('PAY-03 /profile says that the caller is authenticated', async () => {
      expect(await client.json('GET', '/profile', await client.credential('valid'))).toBe(
        'You are authenticated',
      )
    })

    test('PAY-02 /me gives the claims with their types', async () => {
      const { id, age, foo } = (await client.json('GET', '/me', await client.credential('valid'))) as Record<
        string,
        unknown
      >
      expect([typeof id, typeof age, typeof foo]).toEqual(['string', 'number', 'string'])
      expect(Number.isInteger(age)).toBe(true)
    })

    test('REV-12 logout refuses that token everywhere, and another token of the same user passes', async () => {
      const [token, other] = [await client.credential('valid'), await client.credential('valid')]
      expect((await client.send('GET', '/profile', token)).status).toBe(200)
      expect(await client.json('DELETE', '/logout', token)).toBe('OK')
      const refused = handleErrors ? 401 : 500
      expect((await client.send('GET', '/profile', token)).status).toBe(refused)
      expect((await client.send('GET', '/token/mandatory', token)).status).toBe(refused)
      expect((await client.send('GET', '/token/optional', token)).status).toBe(200)
      expect((await client.send('GET', '/profile', other)).status).toBe(200)
    })

    test('REV-13 logout ends the refresh token of the same log-in', async () => {
      const { access_token, refresh_token } = await client.login()
      expect((await client.send('DELETE', '/logout', access_token)).status).toBe(200)
      expect((await client.send('POST', '/refresh', refresh_token)).status).toBe(handleErrors ? 401 : 500)
    })

    test('a refreshed log-in works, its old refresh token does not, and its logout ends the new pair', async () => {
      const first = await client.login('grace')
      const second = (await client.json('POST', '/refresh', first.refresh_token)) as Pair
      const refused = handleErrors ? 401 : 500
      expect(await client.json('GET', '/me', second.access_token)).toMatchObject({ id: 'grace' })
      expect((await client.send('POST', '/refresh', first.refresh_token)).status).toBe(refused)
      expect((await client.send('DELETE', '/logout', second.access_token)).status).toBe(200)
      expect((await client.send('POST', '/refresh', second.refresh_token)).status).toBe(refused)
    })

    test.each(['{"uid":7}', '{"uid":""}', '{', '[]x'])('a log-in with the body %s is a 400', async (body) => {
      const response = await fetch(`${app.url}/login`, { method: 'POST', body })
      expect(response.status).toBe(400)
    })
  })

  test(`PAY-02 ${name}: --profile payload gives the claims on /profile`, async () => {
    const app = await start({ profile: 'payload', handleErrors: false })
    try {
      const client = createClient(app.url)
      expect(await client.json('GET', '/profile', await client.credential('valid'))).toEqual({
        id: 'ada',
        age: 36,
        foo: 'bar',
      })
    } finally {
      await app.close()
    }
  })
}

interface Pair {
  readonly access_token: string
  readonly refresh_token: string
}

type Client = ReturnType<typeof createClient>

function createClient(url: string) {
  const send = (method: string, path: string, token?: string): Promise<Response> =>
    fetch(`${url}${path}`, {
      method,
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    })
  const json = async (method: string, path: string, token?: string): Promise<unknown> =>
    (await send(method, path, token)).json()
  const login = async (uid = 'ada'): Promise<Pair> =>
    (await fetch(`${url}/login`, { method: 'POST', body: JSON.stringify({ uid }) })).json() as Promise<Pair>

  const credential = async (kind: Credential): Promise<string | undefined> => {
    if (kind === 'none') return undefined
    if (kind === 'garbage') return 'aaaaa.bbbbb.ccccc'
    if (kind === 'refresh') return (await login()).refresh_token
    const { access_token } = (await json('GET', '/token')) as Pair
    if (kind === 'revoked') await send('DELETE', '/logout', access_token)
    return access_token
  }
  return { send, json, login, credential }
}
