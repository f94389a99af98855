import { describe, expect, test } from 'vitest'
import type { RunningServer } from '../../../examples/server.js'
import { forge } from '../../security/harness/forge.js'
import type { AfterSettings, RunningSuccessor } from './application.js'
import { findUser, type User } from './users.js'
import { internalsOf } from '../../../packages/tokenlib/src/sessions/internals.js'

/** What a login answers. */
export interface Issued {
  readonly access_token: string
  readonly refresh_token?: string
}

/** A migration: an application as it was, and as it is. */
export interface Migration {
  /** `null` where the old application is not run, but its tokens are made from its format by `logIn`. */
  readonly startBefore: ((port: number) => Promise<RunningServer>) | null
  readonly startAfter: (settings: AfterSettings) => Promise<RunningSuccessor>
  /** What the old application would answer to a login, where it is not run. */
  readonly logIn?: (user: User) => Promise<Issued>
  /** Whether the new application takes old refresh tokens. */
  readonly hasRefresh: boolean
  /** How long old access tokens live, in seconds. */
  readonly lifetime: number
  /** Tokens that the old application may have made, or an attacker, and that must not be accepted. */
  readonly refused: () => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>
}

const DAY = 86_400_000

/** A clock that stands still until it is moved. Old libraries read that of the machine, so it starts there. */
function createClock() {
  const clock = (): number => clock.at
  clock.at = Date.now()
  return clock
}

async function logIn(url: string, name: string): Promise<Issued> {
  const response = await send(url, 'POST', '/login', undefined, { name, password: 'correct horse' })
  expect(response.status).toBeLessThan(300)
  return (await response.json()) as Issued
}

function send(
  url: string,
  method: string,
  path: string,
  token: string | undefined,
  body?: object,
): Promise<Response> {
  return fetch(url + path, {
    method,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
      connection: 'close',
    },
    ...(body && { body: JSON.stringify(body) }),
  })
}

const statusOf = async (url: string, token: string): Promise<number> =>
  (await send(url, 'GET', '/me', token)).status

/** Runs the tests of a migration: log in with the old application, swap, and see who is still logged in. */
export function migrationContract(name: string, migration: Migration): void {
  const { startBefore, startAfter, hasRefresh, lifetime } = migration

  /**
   * Logs in with the old application, ends it, and starts the new one.
   *
   * Each gets a port from the system. To listen again on the old one would fail now and then: a process that another
   * thread is starting holds a copy of the closed listener until its program is loaded.
   */
  async function swap(run: (stage: Stage) => Promise<void>): Promise<void> {
    const clock = createClock()
    const issued: Issued[] = []
    if (startBefore === null) issued.push(...(await issueTwice(migration)))
    else {
      const before = await startBefore(0)
      issued.push(await logIn(before.url, 'ada'), await logIn(before.url, 'grace'))
      for (const { access_token: token } of issued) expect(await statusOf(before.url, token)).toBe(200)
      await before.close()
    }
    // Old tokens have whole seconds, and may have been made a moment ago.
    clock.at = Date.now()
    const acceptUntil = new Date(clock.at + 90 * DAY)
    const after = await startAfter({ port: 0, clock, acceptUntil })
    try {
      const [ada, grace] = issued as [Issued, Issued]
      await run({ ...after, clock, acceptUntil, ada, grace })
    } finally {
      await after.close()
    }
  }

  describe(name, () => {
    test('nobody is logged out by the swap, and old tokens are valid until they expire', async () => {
      await swap(async ({ url, clock, ada, grace }) => {
        const response = await send(url, 'GET', '/me', ada.access_token)
        expect(response.status).toBe(200)
        expect(await response.json()).toEqual({ id: 7, roles: ['editor'] })
        expect(await statusOf(url, grace.access_token)).toBe(200)
        const { exp } = claimsOf(ada.access_token) as { readonly exp: number }
        expect(exp * 1000 - clock.at).toBeLessThanOrEqual(lifetime * 1000 + 1000)
        clock.at = Math.ceil(exp * 1000) - 1
        expect(await statusOf(url, ada.access_token)).toBe(200)
        clock.at = Math.ceil(exp * 1000)
        expect(await statusOf(url, ada.access_token)).toBe(401)
      })
    })

    test('a new login has new tokens, which are refreshed', async () => {
      await swap(async ({ url }) => {
        const issued = await logIn(url, 'ada')
        expect(claimsOf(issued.access_token)).toMatchObject({ sub: '7', type: 'access' })
        expect(await statusOf(url, issued.access_token)).toBe(200)
        const next = await refresh(url, issued.refresh_token)
        expect(next.status).toBe(200)
        expect(await statusOf(url, ((await next.json()) as Issued).access_token)).toBe(200)
        expect(await statusOf(url, issued.refresh_token ?? '')).toBe(401)
      })
    })

    test.runIf(hasRefresh)('an old refresh token is exchanged for a new pair, once', async () => {
      await swap(async ({ url, tokens, clock, ada }) => {
        clock.at += lifetime * 1000 + 1000
        expect(await statusOf(url, ada.access_token)).toBe(401)
        const first = await refresh(url, ada.refresh_token)
        expect(first.status).toBe(200)
        const pair = (await first.json()) as Issued
        expect(await statusOf(url, pair.access_token)).toBe(200)
        expect((await tokens.sessions.list('7')).length).toBe(1)
        expect((await refresh(url, ada.refresh_token)).status).toBe(401)
        expect((await refresh(url, pair.refresh_token)).status).toBe(200)
      })
    })

    test.runIf(hasRefresh)(
      'revoking a user revokes the old refresh tokens too, for as long as they live',
      async () => {
        await swap(async ({ url, tokens, clock, ada, grace }) => {
          await tokens.revoke.user('7')
          clock.at += 55 * DAY
          expect((await refresh(url, ada.refresh_token)).status).toBe(401)
          clock.at -= 55 * DAY
          expect((await refresh(url, grace.refresh_token)).status).toBe(200)
        })
      },
    )

    test('logging out revokes an old token, and no other', async () => {
      await swap(async ({ url, ada, grace }) => {
        expect((await send(url, 'POST', '/logout', ada.access_token)).status).toBe(204)
        expect(await statusOf(url, ada.access_token)).toBe(401)
        expect(await statusOf(url, grace.access_token)).toBe(200)
      })
    })

    test('revoking a user revokes the old tokens of that user', async () => {
      await swap(async ({ url, tokens, ada, grace }) => {
        await tokens.revoke.user('7')
        expect(await statusOf(url, ada.access_token)).toBe(401)
        expect(await statusOf(url, grace.access_token)).toBe(200)
      })
    })

    test('revoking everything of the old application leaves new tokens alone', async () => {
      await swap(async ({ url, tokens, ada, grace }) => {
        const issued = await logIn(url, 'ada')
        await tokens.revoke.all({ issuer: internalsOf(tokens).issuers[0] as string })
        for (const { access_token: token } of [ada, grace]) expect(await statusOf(url, token)).toBe(401)
        expect(await statusOf(url, issued.access_token)).toBe(200)
        await tokens.revoke.all()
        expect(await statusOf(url, issued.access_token)).toBe(401)
      })
    })

    test('after acceptUntil no old token is accepted, and new ones are', async () => {
      await swap(async ({ url, clock, acceptUntil, ada }) => {
        clock.at = acceptUntil.getTime()
        expect(await statusOf(url, ada.access_token)).toBe(401)
        if (hasRefresh) expect((await refresh(url, ada.refresh_token)).status).toBe(401)
        expect(await statusOf(url, (await logIn(url, 'ada')).access_token)).toBe(200)
      })
    })

    test('forged, expired and other tokens are refused', async () => {
      await swap(async ({ url, ada }) => {
        const claims = claimsOf(ada.access_token)
        const forged: Record<string, string> = {
          'of another secret': forge({ key: 'aY7dKp2sWm9xQc4vTz6hJn1bRg8fLe3u', claims }),
          'without a signature': forge({ header: { alg: 'none', typ: 'JWT' }, claims, signature: '' }),
          'with other claims': tamper(ada.access_token, { ...claims, sub: '8', userId: 8 }),
          ...(hasRefresh && { 'a refresh token': ada.refresh_token ?? '' }),
          ...(await migration.refused()),
        }
        for (const [title, token] of Object.entries(forged)) {
          expect(await statusOf(url, token), title).toBe(401)
        }
        expect((await refresh(url, forged['of another secret'])).status).toBe(401)
        expect((await refresh(url, ada.access_token)).status).toBe(401)
        expect(await statusOf(url, ada.access_token)).toBe(200)
      })
    })

    test.runIf(startBefore !== null)(
      'going back: the old application takes old tokens, and no new ones',
      async () => {
        let issued: Issued | undefined
        let old: Issued | undefined
        await swap(async ({ url, ada }) => {
          issued = await logIn(url, 'ada')
          old = ada
        })
        const before = await (startBefore as NonNullable<typeof startBefore>)(0)
        try {
          expect(await statusOf(before.url, old?.access_token ?? '')).toBe(200)
          expect(await statusOf(before.url, issued?.access_token ?? '')).toBe(401)
          expect(await statusOf(before.url, issued?.refresh_token ?? '')).toBe(401)
        } finally {
          await before.close()
        }
      },
    )
  })
}

interface Stage extends RunningSuccessor {
  readonly clock: { (): number; at: number }
  readonly acceptUntil: Date
  readonly ada: Issued
  readonly grace: Issued
}

async function issueTwice({ logIn: issue }: Migration): Promise<readonly Issued[]> {
  if (issue === undefined) throw new Error('A migration whose old application is not run needs logIn')
  return [await issue(findUser('7') as User), await issue(findUser('8') as User)]
}

function refresh(url: string, token: string | undefined): Promise<Response> {
  return send(url, 'POST', '/refresh', undefined, { refresh_token: token })
}

/** The claims of a token, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
}

function tamper(token: string, claims: object): string {
  const [header = '', , signature = ''] = token.split('.')
  return `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`
}
