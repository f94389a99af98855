import { generateKeyPairSync } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import type { Application } from './start-application.js'
import type { Calls } from './protocol.js'
import { describeWithStores } from './places.js'

const LIMIT = 120_000

describeWithStores('processes of 0.1.0 and of this release', (programs, createOptions) => {
  /** A process of 0.1.0 and one of this release, on data of their own. */
  const startBoth = (given: Parameters<typeof createOptions>[0] = {}): [Application, Application] => {
    const options = createOptions(given)
    const both = [programs().start('0.1.0', options), programs().start('new', options)] as const
    onTestFinished(() => Promise.all(both.map((application) => application.stop())).then(() => undefined))
    return [...both]
  }
  const inBothDirections = async (run: (one: Application, other: Application) => Promise<void>) => {
    const [old, current] = startBoth()
    await run(old, current)
    await run(current, old)
  }

  test(
    'accept and list sessions of each other',
    () =>
      inBothDirections(async (one, other) => {
        const uid = `ada of ${one.release}`
        const first = await one.logIn(uid)
        expect(await other.check(first.accessToken)).toBe(uid)
        const laptop = await other.logIn(uid)
        const sids = [await one.sid(laptop.accessToken), await one.sid(first.accessToken)]
        for (const application of [one, other]) expect(await application.list(uid)).toEqual(sids)
      }),
    LIMIT,
  )

  test(
    'accept tokens of each other that are signed with a private key',
    async () => {
      const { privateKey } = generateKeyPairSync('ed25519')
      const key = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
      const [old, current] = startBoth({ config: { JWT_ALGORITHM: 'EdDSA', JWT_PRIVATE_KEY: key } })
      const [oldPair, newPair] = [await old.logIn('ada'), await current.logIn('grace')]
      expect(await current.check(oldPair.accessToken)).toBe('ada')
      expect(await old.check(newPair.accessToken)).toBe('grace')
      // By the id of the key, which both derive alike.
      await old.revokeKey()
      await expect(current.check(newPair.accessToken)).rejects.toThrow('TOKEN_REVOKED')
    },
    LIMIT,
  )

  const REVOCATIONS: readonly (readonly [
    string,
    (by: Application, pair: Pair, uid: string) => Promise<void>,
  ])[] = [
    ['token', (by, { accessToken }) => by.revokeToken(accessToken)],
    ['session', async (by, { accessToken }) => by.revokeSession(await by.sid(accessToken))],
    ['log-out', (by, { accessToken }) => by.logout(accessToken)],
    ['user', (by, _pair, uid) => by.revokeUser(uid)],
    ['all', (by) => by.revokeAll()],
    ['key', (by) => by.revokeKey()],
  ]
  type Pair = Awaited<ReturnType<Calls['logIn']>>

  test.each(REVOCATIONS)(
    'refuse what the other has revoked: %s',
    async (kind, revoke) => {
      for (const direction of ['old revokes', 'new revokes']) {
        const [old, current] = startBoth()
        const [by, other] = direction === 'old revokes' ? [old, current] : [current, old]
        const uid = 'ada'
        // One of each, and both have answered a check before: nothing is remembered that must not be.
        for (const origin of [by, other]) {
          const pair = await origin.logIn(uid)
          for (const application of [by, other]) {
            expect(await application.check(pair.accessToken)).toBe(uid)
          }
          await revoke(by, pair, uid)
          for (const application of [other, by]) {
            await expect(application.check(pair.accessToken), direction).rejects.toThrow('TOKEN_REVOKED')
          }
          if (kind === 'token') expect(await other.list(uid)).not.toEqual([])
          else await expect(other.refresh(pair.refreshToken), direction).rejects.toThrow('TOKEN_REVOKED')
          // The key is revoked for good.
          if (kind === 'key') break
        }
        if (kind === 'key') continue
        const again = await other.logIn(uid)
        expect(await by.check(again.accessToken)).toBe(uid)
      }
    },
    LIMIT,
  )

  test(
    'take turns in refreshing a session of this release, and find a token that is used again',
    async () => {
      const [old, current] = startBoth()
      for (const finder of [old, current]) {
        const pairs = [await current.logIn('ada')]
        for (const application of [old, current, old, current]) {
          pairs.push(await application.refresh(String(pairs.at(-1)?.refreshToken)))
        }
        const [, , used] = pairs
        await expect(finder.refresh(String(used?.refreshToken))).rejects.toThrow('REFRESH_TOKEN_REUSED')
        for (const application of [old, current]) {
          const newest = pairs.at(-1)
          await expect(application.refresh(String(newest?.refreshToken))).rejects.toThrow('TOKEN_REVOKED')
          await expect(application.check(String(newest?.accessToken))).rejects.toThrow('TOKEN_REVOKED')
          expect(await application.list('ada')).toEqual([])
        }
      }
    },
    LIMIT,
  )

  test(
    'refresh a session of 0.1.0 at 0.1.0 only, and the refusal of this release ends nothing',
    async () => {
      const [old, current] = startBoth()
      const { accessToken, refreshToken } = await old.logIn('ada')
      await expect(current.refresh(refreshToken)).rejects.toThrow('TOKEN_INVALID')
      expect(await current.check(accessToken)).toBe('ada')
      const next = await old.refresh(refreshToken)
      await expect(current.refresh(next.refreshToken)).rejects.toThrow('TOKEN_INVALID')
      expect(await current.check(next.accessToken)).toBe('ada')
      expect(await current.list('ada')).toEqual([await old.sid(accessToken)])
    },
    LIMIT,
  )

  test(
    'a replica follows the revocations of 0.1.0, which finds those of the replica at its next check',
    async () => {
      const options = createOptions()
      const old = programs().start('0.1.0', options)
      const current = programs().start('new', { ...options, isReplicated: true })
      onTestFinished(() => Promise.all([old.stop(), current.stop()]).then(() => undefined))
      const pairs = [await old.logIn('ada'), await current.logIn('grace')]
      for (const { accessToken } of pairs) {
        await current.check(accessToken)
        await old.check(accessToken)
      }
      await current.revokeUser('grace')
      await expect(old.check(String(pairs[1]?.accessToken))).rejects.toThrow('TOKEN_REVOKED')

      await old.revokeUser('ada')
      // Until the replica has read it, which the limit of the test bounds.
      const isAccepted = () =>
        current.check(String(pairs[0]?.accessToken)).then(
          () => true,
          () => false,
        )
      while (await isAccepted());
      await expect(current.check(String(pairs[0]?.accessToken))).rejects.toThrow('TOKEN_REVOKED')
    },
    LIMIT,
  )

  test(
    'a limit of sessions holds for log-ins of this release, and what it ends is refused by 0.1.0',
    async () => {
      const [old, current] = startBoth()
      const first = await old.logIn('ada')
      const second = await current.logIn('ada', { maxSessions: 2 })
      // 0.1.0 knows no limit.
      const third = await old.logIn('ada')
      expect(await current.list('ada')).toHaveLength(3)
      const fourth = await current.logIn('ada', { maxSessions: 2 })
      for (const application of [old, current]) {
        for (const { accessToken } of [first, second]) {
          await expect(application.check(accessToken)).rejects.toThrow('TOKEN_REVOKED')
        }
        for (const { accessToken } of [third, fourth])
          expect(await application.check(accessToken)).toBe('ada')
        expect(await application.list('ada')).toHaveLength(2)
      }
    },
    LIMIT,
  )
})
