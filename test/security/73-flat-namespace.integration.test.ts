import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createClock } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW } from './harness/forge.js'
import { createPlace, describeStores, openManager, STORES } from './harness/stores.js'

const LONG = 'x'.repeat(200)
const digestOf = (id: string): string =>
  `sha256:${createHash('sha256').update(id, 'utf16le').digest('base64url')}`

const TARGETS: readonly string[] = ['ada', 'caf\u00E9', LONG, '\uD83D', 'sha256:']

/** Ids that look like those, like keys of a store, or like another kind. */
const LOOKALIKES: readonly string[] = [
  ['Ada', 'ada ', ' ada', 'ada\0', 'ada\n', 'ada:1', 'ada|0|x|0', '["user","ada"]', digestOf('ada')],
  ['u:ada', 's:ada', 't:ada', 'k:ada', 'user:ada', 'session:ada', 'token:ada', 'r:u:ada', 'r:t:ada'],
  ['all', 'all:', 'a:', ':', '*', '%', '_', 'user:', 'session:', 'token:', 'key:'],
  ['meta', 'epoch', 'count', 'log', 'past', 'marks', 'head', '{tokenlib:tokenlib}:meta', '{x}', '1:2'],
  ["'; drop table tokenlib_sessions; --", "' or '1'='1", '$1', '?', '\\', '"'],
  ['__proto__', 'constructor', 'toString', 'null', 'undefined', '0', 'NaN'],
  // A letter with an accent after it, another half of a pair, and what becomes of both in UTF-8.
  ['cafe\u0301', '\uD83E', '\uFFFD', '\u{1F511}', `${LONG}x`, digestOf(LONG), digestOf('caf\u00E9')],
].flat()
const IDS = [...TARGETS, ...LOOKALIKES]

/** What an id can be the id of, and how that is revoked. */
const KINDS = {
  jti: (tokens: TokenManager, id: string) => tokens.revoke.token({ jti: id, exp: CLAIMS.exp }),
  sid: (tokens: TokenManager, id: string) => tokens.revoke.session(id),
  sub: (tokens: TokenManager, id: string) => tokens.revoke.user(id),
  kid: (tokens: TokenManager, id: string) => tokens.revoke.key(id),
} as const
const CLAIM_NAMES = ['jti', 'sid', 'sub'] as const

/** A token with an odd id in one place, and harmless ones in the others. */
function mint(claim: (typeof CLAIM_NAMES)[number], id: string, at: number): string {
  const harmless = { sub: `sub ${claim} ${at}`, sid: `sid ${claim} ${at}`, jti: `jti ${claim} ${at}` }
  return forge({ claims: { ...CLAIMS, ...harmless, [claim]: id } })
}

describeAttacks('an id that passes for the key of something else (CVE-2026-4325)', () => {
  describeStores(STORES, (kind) => {
    ownAttack('a revoked id ends what has that id, and nothing that only looks like it', async () => {
      const grid = CLAIM_NAMES.flatMap((claim) =>
        IDS.map((id, at) => ({ claim, id, token: mint(claim, id, at) })),
      )
      // As tokens and users the one half is revoked, as sessions the other.
      const isChosen = (at: number): boolean => {
        const { claim, id } = grid[at] ?? {}
        return TARGETS.includes(id ?? '') === (claim !== 'sid')
      }
      const tokens = await openManager(kind, createPlace(), createClock())
      const verifyAll = (): Promise<string[]> =>
        Promise.all(grid.map(({ token }) => outcomeOf(tokens.verify(token))))
      expect(new Set(await verifyAll())).toEqual(new Set(['ok']))
      const chosen = grid.filter((_, at) => isChosen(at))
      await Promise.all(chosen.map(({ claim, id }) => KINDS[claim](tokens, id)))
      const outcomes = (await verifyAll()).map((outcome, at) => ({
        claim: grid[at]?.claim,
        id: grid[at]?.id,
        outcome,
      }))
      expect(
        outcomes.filter(({ outcome }, at) => outcome !== (isChosen(at) ? 'TOKEN_REVOKED' : 'ok')),
      ).toEqual([])
    })

    ownAttack('a user, a session or a key of that name revokes nobody else, and not everybody', async () => {
      const tokens = await openManager(kind, createPlace(), createClock())
      const bystander = await tokens.sessions.open({ uid: 'bystander' })
      const bare = tokens.createAccessToken({ uid: 'bystander' })
      const kinds = Object.values(KINDS)
      await Promise.all(IDS.map(async (id, at) => kinds[at % kinds.length]?.(tokens, id)))
      expect(await outcomeOf(tokens.verify(bystander.accessToken))).toBe('ok')
      expect(await outcomeOf(tokens.verify(bare))).toBe('ok')
      expect(await outcomeOf(tokens.sessions.refresh(bystander.refreshToken))).toBe('ok')
      expect(await tokens.sessions.list('bystander')).toHaveLength(1)
      await tokens.revoke.all()
      expect(await outcomeOf(tokens.verify(bare))).toBe('TOKEN_REVOKED')
    })

    ownAttack('a refresh token whose session has the name of a key of the store', async () => {
      const tokens = await openManager(kind, createPlace(), createClock())
      const honest = await tokens.sessions.open({ uid: 'ada' })
      const { sid = '' } = await tokens.verify(honest.accessToken)
      for (const id of [
        ...IDS,
        ` ${sid}`,
        `${sid} `,
        `${sid}\0`,
        sid.toLowerCase(),
        sid.slice(0, -1),
        `s:${sid}`,
      ]) {
        const place = { sid: id, gen: 1, par: '', sat: NOW * 1000 }
        const forged = forge({ claims: { ...CLAIMS, type: 'refresh', ...place } })
        expect(await outcomeOf(tokens.sessions.refresh(forged)), JSON.stringify(id)).toBe('TOKEN_REVOKED')
      }
      expect(await outcomeOf(tokens.sessions.refresh(honest.refreshToken))).toBe('ok')
    })

    ownAttack('logins of users with such names see only their own sessions', async () => {
      const tokens = await openManager(kind, createPlace(), createClock())
      const users = IDS
      await Promise.all(users.map((uid) => tokens.sessions.open({ uid }, { userAgent: uid, ip: uid })))
      const listed = await Promise.all(users.map((uid) => tokens.sessions.list(uid)))
      expect(listed.map((sessions) => sessions.length)).toEqual(users.map(() => 1))
      expect(await tokens.sessions.list('nobody')).toEqual([])
      expect(await tokens.sessions.list('ADA')).toEqual([])
    })
  })
})
