import { deepEqual, equal, ok } from 'node:assert/strict'
import {
  assertRefusal,
  createClient,
  type Client,
  type Credential,
  type IssuedPair,
} from './application-client.js'

/** A running application; `url` has no trailing slash. */
export interface RunningApplication {
  readonly url: string
  /** How often revocation was checked, if the test can know. */
  checks?(): number
  close(): Promise<void>
}

/** Starts the example application in the framework under test, as `npm start` does. */
export type StartApplication = (options: {
  readonly profile: 'message' | 'payload'
  readonly handleErrors: boolean
  /** Whether a refresh token works only once, even for concurrent requests: `JWT_REFRESH_GRACE: 0`. */
  readonly withoutGrace?: boolean
}) => Promise<RunningApplication>

/** The four functions of a test runner that a contract needs; `node:test` calls the last two `before` and `after`. */
export interface ContractRunner {
  describe(name: string, run: () => void): unknown
  test(name: string, run: () => Promise<void>): unknown
  beforeAll(run: () => Promise<void>): unknown
  afterAll(run: () => Promise<void>): unknown
}

// Without a code, the answer is a 200. With one, it is a 500 if the application does not handle errors.
type Row = readonly [route: string, token: Credential, code?: string]

// Specification 4.2 with its behaviour rules, and the table of section 7.
const ROWS: readonly Row[] = [
  ['GET /token/mandatory', 'valid'],
  ['GET /token/mandatory', 'none', 'TOKEN_MISSING'],
  ['GET /token/mandatory', 'revoked', 'TOKEN_REVOKED'],
  ['GET /token/mandatory', 'garbage', 'TOKEN_INVALID'],
  ['GET /token/mandatory', 'refresh', 'ACCESS_TOKEN_REQUIRED'],
  ['GET /token/optional', 'none'],
  ['GET /token/optional', 'valid'],
  ['GET /token/optional', 'revoked'],
  ['GET /token/optional', 'garbage'],
  ['GET /profile', 'valid'],
  ['GET /profile', 'none', 'TOKEN_MISSING'],
  ['GET /profile', 'revoked', 'TOKEN_REVOKED'],
  ['GET /profile', 'garbage', 'TOKEN_INVALID'],
  ['GET /profile', 'refresh', 'ACCESS_TOKEN_REQUIRED'],
  ['GET /me', 'valid'],
  ['GET /me', 'none', 'TOKEN_MISSING'],
  ['GET /me', 'revoked', 'TOKEN_REVOKED'],
  ['GET /token', 'none'],
  ['DELETE /logout', 'valid'],
  ['DELETE /logout', 'none', 'TOKEN_MISSING'],
  ['DELETE /logout', 'revoked', 'TOKEN_REVOKED'],
  ['DELETE /logout', 'garbage', 'TOKEN_INVALID'],
  ['POST /login', 'none'],
  ['POST /refresh', 'refresh'],
  ['POST /refresh', 'valid', 'REFRESH_TOKEN_REQUIRED'],
  ['POST /refresh', 'none', 'TOKEN_MISSING'],
]

/**
 * Tests one implementation of the example application, and so its adapter, over real HTTP.
 *
 * `keepsSessions` is for an application whose logins are sessions in a store: its refresh tokens rotate.
 */
export function applicationContract(
  name: string,
  start: StartApplication,
  runner: ContractRunner,
  options: { readonly keepsSessions?: boolean } = {},
): void {
  for (const handleErrors of [false, true]) {
    runner.describe(`${name}, ${handleErrors ? 'with' : 'without'} handleErrors`, () => {
      let app: RunningApplication
      let client: Client
      runner.beforeAll(async () => {
        app = await start({ profile: 'message', handleErrors })
        client = createClient(app.url)
      })
      runner.afterAll(() => app.close())
      const refused = handleErrors ? 401 : 500

      for (const [route, token, code] of ROWS) {
        runner.test(`${route}, token: ${token}`, async () => {
          const response = await client.send(route, await client.credential(token))
          if (handleErrors && code !== undefined) await assertRefusal(response, code)
          else equal(response.status, code === undefined ? 200 : 500)
        })
      }

      runner.test('the token and its location are named, as a JSON string', async () => {
        const token = await client.credential('valid')
        const expected = `Your token is: ${token} and is located in headers`
        equal(await client.json('GET /token/mandatory', token), expected)
        equal(await client.json('GET /token/optional', token), expected)
        equal(await client.json('GET /token/optional'), 'No token found')
      })

      runner.test('two Authorization headers are refused, whichever is good', async () => {
        const [token, other] = [await client.login(), await client.login('grace')].map(
          ({ access_token }) => access_token,
        ) as [string, string]
        equal((await client.sendHeaders('GET /me', [token])).status, 200)
        for (const tokens of [
          [token, other],
          [token, token],
          [token, 'bad'],
          ['bad', token],
        ]) {
          const response = await client.sendHeaders('GET /me', tokens)
          equal(response.status, refused)
          if (handleErrors) equal(((await response.json()) as { code?: string }).code, 'TOKEN_INVALID')
        }
      })

      runner.test('/profile says that the caller is authenticated', async () => {
        equal(await client.json('GET /profile', await client.credential('valid')), 'You are authenticated')
      })

      runner.test('/me gives the claims with their types', async () => {
        const claims = await client.json('GET /me', await client.credential('valid'))
        deepEqual(claims, { id: 'ada', age: 36, foo: 'bar' })
      })

      runner.test('a guard and a parameter on one route ask the revocation callback once', async () => {
        const token = await client.credential('valid')
        const before = app.checks?.() ?? 0
        equal((await client.send('GET /me', token)).status, 200)
        if (app.checks !== undefined) equal(app.checks() - before, 1)
      })

      runner.test('logout refuses that token everywhere, and another token of the user passes', async () => {
        const [token, other] = [await client.credential('valid'), await client.credential('valid')]
        equal((await client.send('GET /profile', token)).status, 200)
        equal(await client.json('DELETE /logout', token), 'OK')
        equal((await client.send('GET /profile', token)).status, refused)
        equal((await client.send('GET /token/mandatory', token)).status, refused)
        equal((await client.send('GET /token/optional', token)).status, 200)
        equal((await client.send('GET /profile', other)).status, 200)
      })

      runner.test('logout ends the refresh token of the same login', async () => {
        const { access_token, refresh_token } = await client.login()
        equal((await client.send('DELETE /logout', access_token)).status, 200)
        equal((await client.send('POST /refresh', refresh_token)).status, refused)
      })

      runner.test('a refused logout ends nothing: the handler did not run', async () => {
        const { access_token, refresh_token } = await client.login()
        equal((await client.send('DELETE /logout', refresh_token)).status, refused)
        equal((await client.send('GET /profile', access_token)).status, 200)
        equal((await client.send('POST /refresh', refresh_token)).status, 200)
      })

      runner.test('a refreshed login works, and its logout ends the new pair', async () => {
        const first = await client.login('grace')
        const third = await client.refresh(await client.refresh(first))
        deepEqual(await client.json('GET /me', third.access_token), { id: 'grace', age: 36, foo: 'bar' })
        equal((await client.send('DELETE /logout', third.access_token)).status, 200)
        for (const { refresh_token } of [first, third]) {
          equal((await client.send('POST /refresh', refresh_token)).status, refused)
        }
      })

      runner.test('requests at the same time get what is theirs', async () => {
        const users = Array.from({ length: 20 }, (_, at) => `user-${at}`)
        const logins = await Promise.all(users.map((uid) => client.login(uid)))
        const answers = await Promise.all(
          logins.flatMap(({ access_token }) => [
            client.send('GET /me', access_token),
            client.send('GET /me'),
          ]),
        )
        for (const [at, response] of answers.entries()) {
          const isRefused = at % 2 === 1
          equal(response.status, isRefused ? refused : 200)
          if (!isRefused) deepEqual(await response.json(), { id: users[at / 2], age: 36, foo: 'bar' })
        }
      })

      for (const body of ['{"uid":7}', '{"uid":""}', '[]', '{']) {
        runner.test(`a login with the body ${body} is a 400`, async () => {
          equal((await client.post('/login', body)).status, 400)
        })
      }

      runner.test('a CORS pre-flight of a guarded route is not refused', async () => {
        const { status } = await client.preflight('/profile')
        ok(status !== 401 && status !== 403 && status < 500, `answered ${status}`)
      })

      if (options.keepsSessions === true) sessionCases(runner, () => client, start, handleErrors)
    })
  }

  runner.test(`${name}: --profile payload gives the claims on /profile`, async () => {
    const app = await start({ profile: 'payload', handleErrors: false })
    try {
      const client = createClient(app.url)
      const claims = await client.json('GET /profile', await client.credential('valid'))
      deepEqual(claims, { id: 'ada', age: 36, foo: 'bar' })
    } finally {
      await app.close()
    }
  })
}

function sessionCases(
  runner: ContractRunner,
  connect: () => Client,
  start: StartApplication,
  handleErrors: boolean,
): void {
  const assertEnded = async (client: Client, pairs: readonly IssuedPair[]): Promise<void> => {
    for (const { access_token, refresh_token } of pairs) {
      equal((await client.send('GET /me', access_token)).status, handleErrors ? 401 : 500)
      equal((await client.send('POST /refresh', refresh_token)).status, handleErrors ? 401 : 500)
    }
  }

  runner.test('without a grace, an old refresh token ends its session, and no other', async () => {
    const app = await start({ profile: 'message', handleErrors, withoutGrace: true })
    const client = createClient(app.url)
    const [first, other] = [await client.login(), await client.login()]
    const second = await client.refresh(first)
    const third = await client.refresh(second)
    const reuse = await client.send('POST /refresh', first.refresh_token)
    if (handleErrors) await assertRefusal(reuse, 'REFRESH_TOKEN_REUSED')
    else equal(reuse.status, 500)
    await assertEnded(client, [first, second, third])
    equal((await client.send('GET /me', other.access_token)).status, 200)
    await client.refresh(other)
    await app.close()
  })

  runner.test('ten refreshes of one token at the same time pass, and one logout ends them all', async () => {
    const client = connect()
    const login = await client.login()
    const pairs = await Promise.all(Array.from({ length: 10 }, () => client.refresh(login)))
    for (const { access_token } of pairs) equal((await client.send('GET /me', access_token)).status, 200)
    // All of them are valid, not only the first.
    for (const pair of pairs) await client.refresh(pair)
    equal((await client.send('DELETE /logout', login.access_token)).status, 200)
    await assertEnded(client, pairs)
  })

  runner.test('a logout ends what refreshes at the same time were given', async () => {
    const client = connect()
    const login = await client.login()
    const refreshes = Array.from({ length: 10 }, () => client.send('POST /refresh', login.refresh_token))
    const logout = await client.send('DELETE /logout', login.access_token)
    equal(logout.status, 200)
    const passed = (await Promise.all(refreshes)).filter(({ status }) => status === 200)
    const answers = (await Promise.all(passed.map((each) => each.json()))) as Partial<IssuedPair>[]
    await assertEnded(client, [login, ...answers.map((answer) => ({ ...login, ...answer }))])
  })
}
