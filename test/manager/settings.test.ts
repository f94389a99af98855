import { expect, test } from 'vitest'
import { TokenConfig, type TokenConfigOptions } from '../../packages/tokenlib/src/config/config.js'
import { resolveSettings, type Settings } from '../../packages/tokenlib/src/config/settings.js'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'

const resolve = (fields: TokenConfigOptions): Settings =>
  resolveSettings(
    new TokenConfig({
      JWT_SECRET_KEY: '0f1e2d3c4b5a69788796a5b4c3d2e1f0',
      JWT_ACCESS_TOKEN_EXPIRES: 900,
      JWT_REFRESH_TOKEN_EXPIRES: 86_400,
      ...fields,
    }),
    { schema: null, issuers: [], emit: () => undefined },
  )
const resolveStore = (fields: TokenConfigOptions): Settings['store'] => resolve(fields).store

test('revocations are kept for the leeway after the expiry of a token, five minutes at least', () => {
  for (const [leeway, retentionMs] of [
    [0, 300_000],
    [300, 300_000],
    [301, 301_000],
    [3600, 3_600_000],
  ] as const) {
    expect(resolveStore({ JWT_DECODE_LEEWAY: leeway })).toMatchObject({
      retentionMs,
      longestLifetime: 86_400_000 + retentionMs,
    })
  }
})

test('durations become milliseconds, and those that never end the largest number there is', () => {
  expect(resolveStore({ JWT_REFRESH_GRACE: 10, JWT_REFRESH_IDLE_EXPIRES: 3600 })).toMatchObject({
    timeoutMs: 250,
    graceMs: 10_000,
    idleMs: 3_600_000,
  })
  expect(resolveStore({ JWT_REFRESH_TOKEN_EXPIRES: false })).toMatchObject({
    longestLifetime: FOREVER,
    idleMs: FOREVER,
  })
})

test.each<[TokenConfigOptions, graceMs: number, sendWithinMs: number]>([
  [{}, 60_000, 15_000],
  [{ JWT_REFRESH_GRACE: '5m' }, 300_000, 75_000],
  [{ JWT_ACCESS_TOKEN_EXPIRES: 20 }, 20_000, 5000],
  [{ JWT_ACCESS_TOKEN_EXPIRES: false }, 60_000, 15_000],
  [{ JWT_REFRESH_IDLE_EXPIRES: 60 }, 30_000, 7500],
  [{ JWT_REFRESH_IDLE_EXPIRES: 60, JWT_ACCESS_TOKEN_EXPIRES: 20 }, 20_000, 5000],
  // Without a grace, new tokens may be sent for a quarter of the time until the next refresh.
  [{ JWT_REFRESH_GRACE: 0 }, 0, 225_000],
  [{ JWT_REFRESH_GRACE: 0, JWT_ACCESS_TOKEN_EXPIRES: false }, 0, FOREVER / 4],
])('%j: a grace of %d ms, and new tokens are late after %d ms', (fields, graceMs, sendWithinMs) => {
  const settings = resolve(fields)
  expect([settings.store.graceMs, settings.sendWithinMs]).toEqual([graceMs, sendWithinMs])
})
