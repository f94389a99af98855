import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { TokenManager, RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock, openToken } from '../helpers/manager.js'
import { csrfOf } from '../helpers/requests.js'
import { advance, createRevocable, outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { SECRET } from './harness/forge.js'
import { createPlace, describeStores, openManager } from './harness/stores.js'

const WINDOW = 8
const COOKIES = { JWT_TOKEN_LOCATION: ['headers', 'cookies'] } as const

/** Everything that can happen to a session; the tokens that came of it, and an id that is kept for certain. */
async function live(tokens: TokenManager, clock: ReturnType<typeof createClock>) {
  const made: string[] = []
  const keep = <Pair extends { accessToken: string; refreshToken: string }>(pair: Pair): Pair => {
    made.push(pair.accessToken, pair.refreshToken)
    return pair
  }
  const client = { ip: '192.0.2.7', userAgent: 'Browser' }
  const first = keep(await tokens.sessions.open({ uid: 'ada' }, client))
  const next = keep(await advance({ tokens, clock }, first.refreshToken))
  keep(await advance({ tokens, clock }, next.refreshToken))
  clock.seconds += 60
  // Found stolen, and revoked for it.
  expect(await outcomeOf(tokens.sessions.refresh(first.refreshToken, client))).toBe('REFRESH_TOKEN_REUSED')
  const second = keep(await tokens.sessions.open({ uid: 'bob', role: 'admin' }))
  await tokens.logout(await tokens.verify(second.accessToken))
  const singles = [tokens.createAccessToken({ uid: 'ada' }), tokens.createRefreshToken({ uid: 'ada' })]
  made.push(...singles)
  const revoked = await tokens.verify(singles[0] ?? '')
  await tokens.revoke.token(revoked)
  keep(await tokens.sessions.open({ uid: 'cleo' }))
  await tokens.revoke.user('cleo')
  const open = keep(await tokens.sessions.open({ uid: 'dora' }))
  await tokens.sessions.list('dora')
  return { made, kept: [String(revoked.jti), String(openToken(open.accessToken).claims['sid'])] }
}

/** Pieces of tokens and of their CSRF values, of the secret, and whole digests of tokens, that a text contains. */
function findSecrets(text: string, tokens: readonly string[]): string[] {
  const values = [...tokens.flatMap((token) => [token, csrfOf(token)]), SECRET]
  const pieces = values.flatMap((value) =>
    Array.from({ length: value.length - WINDOW + 1 }, (_, at) => value.slice(at, at + WINDOW)),
  )
  const digests = tokens.flatMap((token) =>
    [token, token.slice(0, token.lastIndexOf('.')), token.slice(token.lastIndexOf('.') + 1)].flatMap((part) =>
      ['sha256', 'sha1', 'md5'].flatMap((hash) =>
        (['hex', 'base64url', 'binary'] as const).map((encoding) =>
          createHash(hash).update(part).digest(encoding),
        ),
      ),
    ),
  )
  return [...new Set([...pieces, ...digests])].filter((piece) => text.includes(piece))
}

describeAttacks('a stolen database with tokens in it (CWE-312, RFC 9700 §4.14)', () => {
  describeStores(['SQLite', 'Redis', 'PostgreSQL', 'MariaDB'], (kind) => {
    ownAttack(
      'a dump of everything the store keeps has no piece of a token, and no digest of one',
      async () => {
        const place = createPlace()
        const clock = createClock()
        const { made, kept } = await live(await openManager(kind, place, clock, COOKIES), clock)
        const dump = await kind.dump(place)
        // The search finds what is there.
        for (const id of kept) expect(dump).toContain(id)
        expect(findSecrets(`${dump} ${made[0]?.slice(40, 48)}`, made)).toHaveLength(1)
        expect(findSecrets(dump, made)).toEqual([])
      },
    )
  })

  ownAttack('no store is ever handed a piece of a token, whatever it keeps', async () => {
    const clock = createClock()
    const seen: unknown[] = []
    const store = createMemoryStore({ clock })
    const { tokens } = createRevocable(
      { ...COOKIES, JWT_SECRET_KEY: SECRET },
      { clock, store: record(store, seen) },
    )
    const { made, kept } = await live(tokens, clock)
    const text = JSON.stringify(seen)
    for (const id of kept) expect(text).toContain(id)
    expect(findSecrets(`${text} ${made[0]?.slice(40, 48)}`, made)).toHaveLength(1)
    expect(findSecrets(text, made)).toEqual([])
  })

  ownAttack('anyone who has the database has no token: no id in it opens a session', async () => {
    const clock = createClock()
    const seen: unknown[] = []
    const { tokens } = createRevocable({}, { clock, store: record(createMemoryStore({ clock }), seen) })
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
    const texts = JSON.stringify(seen).match(/[\w-]{8,}/g) ?? []
    expect(texts).toContain(openToken(accessToken).claims['sid'])
    for (const text of texts) {
      expect(await outcomeOf(tokens.verify(text))).toBe('TOKEN_INVALID')
      expect(await outcomeOf(tokens.sessions.refresh(text))).toBe('TOKEN_INVALID')
    }
  })
})

/** The same store, with a note of everything that goes in and comes out. */
function record(store: RevocationStore, seen: unknown[]): RevocationStore {
  const watch = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(given, name) {
        const member: unknown = Reflect.get(given, name)
        if (name === 'connect') return member
        if (typeof member === 'object' && member !== null) return watch(member)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          const answer: unknown = Reflect.apply(member, given, args)
          seen.push(name, args)
          Promise.resolve(answer).then(
            (value) => seen.push(value),
            () => undefined,
          )
          return answer
        }
      },
    })
  return watch(store)
}
