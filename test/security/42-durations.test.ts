import { expect } from 'vitest'
import {
  type CreateTokenOptions,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { openToken } from '../helpers/manager.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { SECRET } from './harness/forge.js'

// Each looks like a length of time to somebody, and some libraries drop it without a word.
const NO_TEXTS =
  '1h30m|1,5h| 1h|1h |1 h|1H|1mo|1y|P1Y|P1M|p1d|PT|P|P1DT|-1h|+1h||h|1e3s|0x10s|١h|1h\n|1h\0|never|none|Infinity|NaN|15 minutes|900'.split(
    '|',
  )
const NO_NUMBERS = [Number.NaN, Number.POSITIVE_INFINITY, -1, -0.5, 0, 0.4, 1.5, 2 ** 53]
const NO_OTHERS = [true, [], ['1h'], {}, new Date(), 5n, Symbol('1h'), () => 900]
const NO_DURATIONS: readonly unknown[] = [...NO_TEXTS, ...NO_NUMBERS, ...NO_OTHERS]

describeAttacks(
  'a duration nobody understood, and a token for ever (CVE-2026-107275, CVE-2026-110024)',
  () => {
    ownAttack('what is no duration is no lifetime in the configuration', () => {
      expect(lifetimeOf({ JWT_ACCESS_TOKEN_EXPIRES: 'PT1H' })).toBe(3600)
      for (const duration of [...NO_DURATIONS, null]) {
        for (const field of [
          'JWT_ACCESS_TOKEN_EXPIRES',
          'JWT_REFRESH_TOKEN_EXPIRES',
          'JWT_REFRESH_IDLE_EXPIRES',
        ]) {
          expect(() => new TokenConfig({ [field]: duration }), `${field} ${String(duration)}`).toThrow(
            expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
          )
        }
      }
    })

    ownAttack('nor in the environment', () => {
      const read = (text: string): unknown =>
        TokenConfig.fromEnv({}, { JWT_SECRET_KEY: SECRET, JWT_ACCESS_TOKEN_EXPIRES: text })
          .JWT_ACCESS_TOKEN_EXPIRES
      expect([read('900'), read('15m'), read('false')]).toEqual([900, '15m', false])
      // White space around a value belongs to the file it came from.
      const texts = NO_DURATIONS.filter(
        (value) => typeof value === 'string' && !['900', ' 1h', '1h ', '1h\n'].includes(value),
      )
      for (const text of [...texts, '0', 'null', 'undefined', '1:00', '00:60:00', '1_000'] as string[]) {
        expect(() => read(text), text).toThrow(expect.objectContaining({ code: 'CONFIGURATION_INVALID' }))
      }
    })

    ownAttack('nor for one token, or for its freshness', () => {
      expect(lifetimeOf({}, { expiresIn: '1h' })).toBe(3600)
      const tokens = createManager()
      for (const duration of [...NO_DURATIONS, null] as never[]) {
        expect(() => tokens.createAccessToken({ uid: 'ada' }, { expiresIn: duration })).toThrow(TypeError)
        if (duration === true) continue
        expect(() => tokens.createAccessToken({ uid: 'ada' }, { fresh: duration })).toThrow(TypeError)
      }
      for (const date of [new Date(Number.NaN), '2030-01-01', 1_900_000_000, null, {}] as never[]) {
        expect(() => tokens.createAccessToken({ uid: 'ada' }, { expiresAt: date })).toThrow(TypeError)
      }
    })

    ownAttack(
      'what one token is given in addition to its lifetime leaves the configured lifetime alone',
      () => {
        const options: readonly CreateTokenOptions[] = [
          {},
          { fresh: true },
          { fresh: '5m' },
          { scopes: ['read'] },
          { audience: 'api' },
          { headers: { hint: 'x' } },
          { expiresIn: undefined, expiresAt: undefined } as unknown as CreateTokenOptions,
        ]
        for (const given of options) expect(lifetimeOf({ JWT_ACCESS_TOKEN_EXPIRES: 300 }, given)).toBe(300)
        expect(lifetimeOf({ JWT_ACCESS_TOKEN_EXPIRES: 300 }, { expiresIn: false })).toBeNull()
      },
    )

    ownAttack('nor does a pair lose the lifetime of one half to the options of the other', async () => {
      const tokens = createManager({ JWT_ACCESS_TOKEN_EXPIRES: 300, JWT_REFRESH_TOKEN_EXPIRES: 900 })
      const pair = await tokens.sessions.open({ uid: 'ada' }, { access: { fresh: true }, refresh: {} })
      expect([readLifetime(pair.accessToken), readLifetime(pair.refreshToken)]).toEqual([300, 900])
    })
  },
)

function createManager(options: TokenConfigOptions = {}): TokenManager {
  return new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }) })
}

function lifetimeOf(config: TokenConfigOptions, options?: CreateTokenOptions): number | null {
  return readLifetime(createManager(config).createAccessToken({ uid: 'ada' }, options))
}

function readLifetime(token: string): number | null {
  const { exp, iat } = openToken(token).claims as { exp?: number; iat: number }
  return exp === undefined ? null : exp - iat
}
