import { createSecretKey } from 'node:crypto'
import { expect } from 'vitest'
import { ConfigurationError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { forge } from './harness/forge.js'
import { LONG_SECRET } from './harness/keys-for.js'
import { skipAttack } from './harness/skip-attack.js'

describeAttacks('an empty secret (CVE-2026-44351, CVE-2026-45363, CVE-2019-20933)', () => {
  attack('an empty text', async ({ refusesKey }) => {
    for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
      await refusesKey({ algorithm, key: '' }, forge({ algorithm, key: '' }))
      await refusesKey({ key: '' }, forge({ algorithm, key: '' }))
    }
  })

  attack('no bytes', async ({ refusesKey }) => {
    for (const key of [Buffer.alloc(0), new Uint8Array(0), Buffer.from('secret').subarray(6)]) {
      for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
        await refusesKey({ algorithm, key }, forge({ algorithm, key: '' }))
        await refusesKey({ key }, forge({ algorithm, key: '' }))
      }
    }
  })

  attack('a secret key object of no bytes', async ({ refusesKey }) => {
    const key = createSecretKey(Buffer.alloc(0))
    for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
      await refusesKey({ algorithm, key }, forge({ algorithm, key: '' }))
    }
  })

  attack('a JWK of no bytes (CVE-2026-102266)', async ({ target, refusesKey }) => {
    if (target.name === 'fast-jwt' || target.name === 'jsonwebtoken') skipAttack(target, 'JWKs')
    for (const algorithm of ['HS256', 'HS384', 'HS512'] as const) {
      for (const k of ['', '=', '====', '!', '\n']) {
        await refusesKey({ algorithm, key: { kty: 'oct', k } }, forge({ algorithm, key: '' }))
      }
    }
  })

  ownAttack('an empty secret next to a good one, in a variable or in the text of a JWK', () => {
    const create = (JWT_PREVIOUS_SECRET_KEY: string) =>
      new TokenManager({
        config: new TokenConfig({ JWT_SECRET_KEY: LONG_SECRET, JWT_PREVIOUS_SECRET_KEY }),
      })
    const createFrom = (JWT_SECRET_KEY: string) =>
      new TokenManager({ config: TokenConfig.fromEnv({}, { JWT_SECRET_KEY }) })
    const previous = Array.from(LONG_SECRET).toReversed().join('')
    expect(() => create(previous)).not.toThrow()
    expect(() => createFrom(LONG_SECRET)).not.toThrow()
    for (const empty of ['', '{"kty":"oct","k":""}', '{"kty":"oct"}', '{"kty":"oct","k":null}']) {
      expect(() => create(empty), `previous ${empty}`).toThrow(ConfigurationError)
      expect(() => createFrom(empty), `from a variable ${empty}`).toThrow(ConfigurationError)
    }
  })

  ownAttack('an empty secret where weak ones are allowed', () => {
    const create = (JWT_SECRET_KEY: string) =>
      new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY, JWT_ALLOW_WEAK_SECRET: true }) })
    expect(() => create('toy')).not.toThrow()
    expect(() => create('')).toThrow(ConfigurationError)
  })
})
