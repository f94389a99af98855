import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { toTimedId } from '../../packages/tokenlib/src/kit.js'
import { createClock, PATIENT } from '../helpers/manager.js'
import { outcomeOf, toPair } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'
import { createPlace, describeStores, openManager, STORES } from './harness/stores.js'

describeAttacks('issued and revoked in the same moment (RFC 7519 §4.1.6: iat has whole seconds)', () => {
  describeStores(STORES, (kind) => {
    ownAttack('logins and revocations while the clock stands still', async () => {
      const tokens = await openManager(kind, createPlace(), createClock())
      for (let round = 0; round < 3; round++) {
        for (const revoke of [() => tokens.revoke.user('ada'), () => tokens.revoke.all()]) {
          const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
          const single = tokens.createAccessToken({ uid: 'ada' })
          expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
          expect(await outcomeOf(tokens.verify(single))).toBe('ok')
          await revoke()
          expect(await outcomeOf(tokens.verify(accessToken))).toBe('TOKEN_REVOKED')
          expect(await outcomeOf(tokens.verify(single))).toBe('TOKEN_REVOKED')
          expect(await outcomeOf(tokens.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
        }
      }
    })

    ownAttack('a refresh in the millisecond of a revocation does not make a session younger', async () => {
      const tokens = await openManager(kind, createPlace(), createClock(), { JWT_REFRESH_GRACE: 0 })
      const first = await tokens.sessions.open({ uid: 'ada' })
      const second = toPair(await tokens.sessions.refresh(first.refreshToken))
      const late = tokens.sessions
        .refresh(second.refreshToken)
        .then(toPair)
        .catch(() => null)
      await tokens.revoke.user('ada')
      for (const pair of [first, second, await late]) {
        if (pair === null) continue
        expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_REVOKED')
        expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('TOKEN_REVOKED')
      }
    })

    ownAttack('tokens of another issuer, whose ages are whole seconds', async () => {
      const clock = createClock(NOW + 0.5)
      const tokens = await openManager(kind, createPlace(), clock)
      const mint = (iat: number | undefined, jti: string): string =>
        forge({ claims: { ...CLAIMS, iat, jti } })
      const before = mint(NOW, 'a')
      const unknown = mint(undefined, 'b')
      expect(await outcomeOf(tokens.verify(before))).toBe('ok')
      expect(await outcomeOf(tokens.verify(unknown))).toBe('ok')
      await tokens.revoke.user('ada')
      expect(await outcomeOf(tokens.verify(before))).toBe('TOKEN_REVOKED')
      // Issued in the same second, a moment later for all we know: a tie counts as revoked.
      expect(await outcomeOf(tokens.verify(mint(NOW, 'c')))).toBe('TOKEN_REVOKED')
      expect(await outcomeOf(tokens.verify(mint(NOW + 0.5, 'd')))).toBe('TOKEN_REVOKED')
      // One that does not say when it was issued counts as older than any revocation.
      expect(await outcomeOf(tokens.verify(unknown))).toBe('TOKEN_REVOKED')
      clock.seconds = NOW + 1
      expect(await outcomeOf(tokens.verify(mint(NOW + 1, 'e')))).toBe('ok')
    })

    ownAttack('ids of another issuer that promise a later start', async () => {
      const tokens = await openManager(kind, createPlace(), createClock())
      const later = toTimedId((NOW + 86_400) * 1000, 'A'.repeat(14))
      const last = toTimedId(2 ** 48 - 1, 'A'.repeat(14))
      const forged = [
        { jti: later },
        { jti: last },
        { jti: 'x', sid: later },
        { jti: undefined, sid: last },
      ].map((ids) => forge({ claims: { ...CLAIMS, ...ids } }))
      for (const token of forged) expect(await outcomeOf(tokens.verify(token))).toBe('ok')
      await tokens.revoke.user('ada')
      for (const token of forged) expect(await outcomeOf(tokens.verify(token))).toBe('TOKEN_REVOKED')
    })

    ownAttack('a login by a machine whose clock runs ahead', async () => {
      const place = createPlace()
      const clock = createClock()
      const tokens = await openManager(kind, place, clock, { JWT_DECODE_LEEWAY: 60 })
      const ahead = new TokenManager({
        config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
        clock: createClock(NOW + 30),
        store: await kind.open(place, clock),
      })
      const { accessToken, refreshToken } = await ahead.sessions.open({ uid: 'ada' })
      expect(await outcomeOf(tokens.verify(accessToken))).toBe('ok')
      clock.seconds += 0.001
      await tokens.revoke.user('ada')
      for (const manager of [tokens, ahead]) {
        expect(await outcomeOf(manager.verify(accessToken))).toBe('TOKEN_REVOKED')
        expect(await outcomeOf(manager.sessions.refresh(refreshToken))).toBe('TOKEN_REVOKED')
      }
    })
  })
})
