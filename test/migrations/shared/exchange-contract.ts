import { describe, expect, test } from 'vitest'
import type { RunningServer } from '../../../examples/server.js'
import type { AfterSettings, RunningSuccessor } from './application.js'

/** What a browser or an app has of the old library. */
export interface OldClient {
  /** The user, as both applications answer at `/me`. */
  readonly uid: string
  /** The headers of its requests. */
  readonly headers: Readonly<Record<string, string>>
}

/** A migration in which an old session is exchanged for a new one. */
export interface ExchangeMigration {
  readonly startBefore: () => Promise<RunningServer>
  readonly logIn: (url: string, name: 'ada' | 'grace') => Promise<OldClient>
  readonly startAfter: (settings: AfterSettings) => Promise<RunningSuccessor>
  /** The request that exchanges, such as `GET /me`. */
  readonly exchange: readonly [method: string, path: string]
  /** How long the old credential lives, in seconds, where that is less than a few days. */
  readonly tokenLifetime?: number
  /** Credentials that an attacker may make of a genuine one. */
  readonly forged: (old: OldClient) => Promise<Readonly<Record<string, OldClient['headers']>>>
}

const DAY = 86_400_000

interface Stage extends RunningSuccessor {
  readonly clock: { (): number; at: number }
  readonly acceptUntil: Date
  readonly ada: OldClient
  readonly grace: OldClient
}

/** Sends a request from a page of the application. */
export function send(
  url: string,
  method: string,
  path: string,
  headers: OldClient['headers'],
): Promise<Response> {
  const own = { 'sec-fetch-site': 'same-origin', connection: 'close' }
  return fetch(url + path, { method, headers: { ...own, ...headers }, redirect: 'manual' })
}

/** The cookies that a browser has after a response. */
export function keepCookies(response: Response, jar = new Map<string, string>()): Map<string, string> {
  for (const cookie of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
    if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(cookie)) jar.delete(name)
    else jar.set(name, value)
  }
  return jar
}

export const toCookieHeader = (jar: ReadonlyMap<string, string>): string =>
  [...jar].map((pair) => pair.join('=')).join('; ')

/** Logs in with the old application, swaps it for the new one, and sees who is still logged in, and how often. */
export function exchangeContract(name: string, migration: ExchangeMigration): void {
  const [method, path] = migration.exchange
  const exchange = (url: string, { headers }: Pick<OldClient, 'headers'>) => send(url, method, path, headers)
  const later = Math.min(5 * DAY, (migration.tokenLifetime ?? Infinity) * 1000 - 60_000)
  const count = async ({ tokens }: Stage, { uid }: OldClient) => (await tokens.sessions.list(uid)).length

  async function swap(run: (stage: Stage) => Promise<void>): Promise<void> {
    const before = await migration.startBefore()
    const ada = await migration.logIn(before.url, 'ada')
    const grace = await migration.logIn(before.url, 'grace')
    const asked = await send(before.url, 'GET', '/me', ada.headers)
    expect(await asked.json()).toMatchObject({ id: ada.uid })
    await before.close()
    const clock = () => clock.at
    clock.at = Date.now()
    const acceptUntil = new Date(clock.at + 30 * DAY)
    const after = await migration.startAfter({ port: 0, clock, acceptUntil })
    try {
      await run({ ...after, clock, acceptUntil, ada, grace })
    } finally {
      await after.close()
    }
  }

  describe(name, () => {
    test('nobody is logged out: the first request opens a session and deletes the old cookies', async () => {
      await swap(async (stage) => {
        const { url, ada, grace, clock } = stage
        const first = await exchange(url, ada)
        expect(first.status).toBe(200)
        const jar = keepCookies(first, new Map([['before', ada.headers['cookie'] ?? '']]))
        jar.delete('before')
        const answer = await send(url, 'GET', '/me', { cookie: toCookieHeader(jar) })
        expect(await answer.json()).toMatchObject({ id: ada.uid })
        const deleted = first.headers.getSetCookie().filter((cookie) => /max-age=0/i.test(cookie))
        for (const [, old] of (ada.headers['cookie'] ?? '').matchAll(/([^=; ]+)=/g)) {
          expect(deleted.some((cookie) => cookie.startsWith(`${old}=;`))).toBe(true)
        }
        expect(await count(stage, ada)).toBe(1)
        clock.at += later
        expect((await exchange(url, grace)).status).toBe(200)
      })
    })

    test('an old session opens one session, also with requests at the same time', async () => {
      await swap(async (stage) => {
        const { url, ada } = stage
        const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(url, ada)))
        const others = [...answers.filter(({ ok }) => !ok), await exchange(url, ada)]
        expect(others.length).toBe(8)
        for (const response of others) {
          if (response.status === 409) expect(response.headers.get('retry-after')).toBe('1')
          else expect(response.status).toBe(migration.tokenLifetime === undefined ? 409 : 401)
          expect(response.headers.getSetCookie().join()).not.toContain('access_token_cookie=ey')
        }
        // A browser that keeps the old cookie is told once, not for ever.
        const cookie = `${ada.headers['cookie']}; exchanged=1`
        expect((await exchange(url, { headers: { ...ada.headers, cookie } })).status).toBe(401)
        expect(await count(stage, ada)).toBe(1)
      })
    })

    test('while the store does not answer, nobody loses the old cookies', async () => {
      await swap(async ({ url, tokens, ada }) => {
        await tokens.close()
        const response = await exchange(url, ada)
        expect(response.status).toBeGreaterThanOrEqual(500)
        expect(response.headers.getSetCookie()).toEqual([])
      })
    })

    test('logging out with an old session ends it, and no other', async () => {
      await swap(async (stage) => {
        const { url, ada, grace } = stage
        expect((await send(url, 'POST', '/logout', ada.headers)).status).toBe(204)
        expect((await exchange(url, ada)).status).not.toBe(200)
        expect((await send(url, 'GET', '/me', ada.headers)).status).not.toBe(200)
        expect(await count(stage, ada)).toBe(0)
        expect((await exchange(url, grace)).status).toBe(200)
      })
    })

    test('revoking a user ends the old sessions of that user', async () => {
      await swap(async (stage) => {
        const { url, tokens, clock, ada, grace } = stage
        await tokens.revoke.user(ada.uid)
        clock.at += later
        expect((await exchange(url, ada)).status).not.toBe(200)
        expect(await count(stage, ada)).toBe(0)
        expect((await exchange(url, grace)).status).toBe(200)
      })
    })

    test('after acceptUntil no old session is accepted, and new ones go on', async () => {
      await swap(async (stage) => {
        const { url, tokens, clock, acceptUntil, ada } = stage
        clock.at = acceptUntil.getTime()
        const refused = await exchange(url, ada)
        expect(refused.status).toBe(401)
        expect(((await refused.json()) as { code: string }).code).toBe(
          migration.tokenLifetime === undefined ? 'TOKEN_MISSING' : 'TOKEN_EXPIRED',
        )
        expect(await count(stage, ada)).toBe(0)
        const { accessToken } = await tokens.sessions.open({ uid: ada.uid })
        const answer = await send(url, 'GET', '/me', { authorization: `Bearer ${accessToken}` })
        expect(answer.status).toBe(200)
      })
    })

    test('forged and foreign credentials, and requests of other sites, open nothing', async () => {
      await swap(async (stage) => {
        const { url, ada } = stage
        for (const [title, headers] of Object.entries(await migration.forged(ada))) {
          expect((await exchange(url, { headers })).status, title).toBe(401)
        }
        const foreign = { ...ada.headers, 'sec-fetch-site': 'cross-site' }
        if (ada.headers['cookie'] !== undefined) {
          expect((await send(url, 'POST', '/logout', foreign)).status).toBe(401)
        }
        expect(await count(stage, ada)).toBe(0)
        expect((await exchange(url, ada)).status).toBe(200)
      })
    })
  })
}
