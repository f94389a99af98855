import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const expired = forge({ claims: { ...CLAIMS, iat: NOW - 7200, exp: NOW - 3600 } })
const barelyExpired = forge({ claims: { ...CLAIMS, exp: NOW - 30 } })

describeAttacks('a clock that cannot be compared with (fast-jwt 640)', () => {
  attack('a leeway of NaN forgives nothing', async ({ open, refusesKey }) => {
    await open({ ...OPTIONS, leeway: 60 }, barelyExpired)
    await refusesKey({ ...OPTIONS, leeway: Number.NaN }, expired)
  })

  attack('a leeway without an end is none', async ({ open, refusesKey }) => {
    await open({ ...OPTIONS, leeway: 60 }, barelyExpired)
    await refusesKey({ ...OPTIONS, leeway: Number.POSITIVE_INFINITY }, expired)
  })

  attack('a leeway below nought does not open what has not begun', async ({ open, refusesKey }) => {
    await open({ ...OPTIONS, leeway: 60 }, barelyExpired)
    const future = forge({ claims: { ...CLAIMS, nbf: NOW + 30 } })
    for (const leeway of [-60, Number.NEGATIVE_INFINITY]) {
      await refusesKey({ ...OPTIONS, leeway }, expired)
      await refusesKey({ ...OPTIONS, leeway }, future)
    }
  })

  attack(
    'a leeway that is a text, as the environment has it, is not written behind the date',
    async (lab) => {
      await lab.open({ ...OPTIONS, leeway: 60 }, barelyExpired)
      await lab.refusesKey({ ...OPTIONS, leeway: '60' as unknown as number }, expired)
    },
  )

  ownAttack('a leeway of anything else is an error immediately', () => {
    expect(new TokenConfig({ JWT_DECODE_LEEWAY: '1m' }).JWT_DECODE_LEEWAY).toBe('1m')
    for (const leeway of [Number.NaN, Number.POSITIVE_INFINITY, -1, '60', '', '1h30m', null, true, [], {}]) {
      expect(() => new TokenConfig({ JWT_DECODE_LEEWAY: leeway as number })).toThrow(
        expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
      )
    }
  })

  ownAttack('a clock that shows no time opens nothing', async () => {
    for (const broken of [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      undefined,
      null,
      '0',
      {},
    ]) {
      let time: unknown = NOW * 1000
      const config = new TokenConfig({ JWT_SECRET_KEY: SECRET })
      const tokens = new TokenManager({ config, clock: () => time as number })
      await tokens.verify(forge())
      time = broken
      await expect(tokens.verify(forge())).rejects.toThrow(TypeError)
      await expect(tokens.verify(expired)).rejects.toThrow(TypeError)
      expect(() => tokens.createAccessToken({ uid: 'ada' })).toThrow(TypeError)
    }
  })
})
