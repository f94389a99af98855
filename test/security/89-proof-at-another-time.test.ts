import { expect } from 'vitest'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { NOW } from './harness/forge.js'
import { openBound } from './harness/prover.js'

describeAttacks(
  'a proof that was made too early or too late (RFC 9449 §4.3 step 11, §11.1 and §11.2)',
  () => {
    ownAttack('a proof that is older than a proof may be', async () => {
      const { prove, call, clock } = await openBound()
      const made = [prove(), prove(), prove()]
      clock.seconds = NOW + 60
      expect(await call(made[0] ?? '')).toBe('ok')
      clock.seconds = NOW + 60.001
      expect(await call(made[1] ?? '')).toBe('PROOF_INVALID')
      clock.seconds = NOW + 600
      expect(await call(made[2] ?? '')).toBe('PROOF_INVALID')
      for (const iat of [NOW, 0, -1, -NOW, -1e300, -Number.MAX_VALUE, Number.MIN_VALUE]) {
        expect(await call(prove({ claims: { iat } })), String(iat)).toBe('PROOF_INVALID')
      }
    })

    ownAttack('a proof made in advance, also with a clock that is ahead of ours', async () => {
      const { prove, call, clock } = await openBound({ config: { JWT_DECODE_LEEWAY: 300 } })
      expect(await call(prove({ claims: { iat: NOW + 5 } }))).toBe('ok')
      const early = prove({ claims: { iat: NOW + 5.001 } })
      expect(await call(early)).toBe('PROOF_INVALID')
      for (const iat of [NOW + 60, NOW * 1000, NOW * 1000 + 0.5, 2 ** 53, 1e300, Number.MAX_VALUE]) {
        expect(await call(prove({ claims: { iat } })), String(iat)).toBe('PROOF_INVALID')
      }
      clock.seconds += 0.001
      expect(await call(early)).toBe('ok')
    })

    ownAttack('a time that is no number', async () => {
      const { prove, call } = await openBound()
      for (const iat of [
        undefined,
        null,
        '',
        String(NOW),
        `${NOW}.0`,
        true,
        [NOW],
        { seconds: NOW },
        'NaN',
      ]) {
        expect(await call(prove({ claims: { iat } })), JSON.stringify(iat)).toBe('PROOF_INVALID')
      }
      // JSON has no such numbers, but JSON.parse reads the first two as Infinity.
      for (const iat of [
        '1e999',
        '-1e999',
        'NaN',
        'Infinity',
        `0x${NOW.toString(16)}`,
        `+${NOW}`,
        `0${NOW}`,
      ]) {
        const honest = JSON.parse(Buffer.from(prove().split('.')[1] ?? '', 'base64url').toString()) as object
        const claims = JSON.stringify(honest).replace(`"iat":${NOW}`, `"iat":${iat}`)
        expect(await call(prove({ claims })), iat).toBe('PROOF_INVALID')
      }
    })

    ownAttack('a validity that the proof gives to itself', async () => {
      const { prove, call, clock } = await openBound({ dpop: { maxAge: '10s' } })
      const proof = prove({ claims: { exp: NOW + 86_400, nbf: NOW, maxAge: 86_400, max_age: 86_400 } })
      clock.seconds += 11
      expect(await call(proof)).toBe('PROOF_INVALID')
    })

    ownAttack('a short-lived proof with the age of a long-lived token', async () => {
      const { prove, call, clock } = await openBound({ config: { JWT_ACCESS_TOKEN_EXPIRES: '7d' } })
      clock.seconds += 6 * 86_400
      expect(await call(prove())).toBe('PROOF_INVALID')
      expect(await call(prove({ claims: { iat: clock.seconds } }))).toBe('ok')
    })
  },
)
