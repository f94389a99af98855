import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { encode, NOW } from './harness/forge.js'
import { openBound } from './harness/prover.js'

const SECRET = 'a-secret-for-nonces-of-at-least-32-bytes'
const OTHER_SECRET = 'another-secret-for-nonces-of-32-bytes'

type Bound = Awaited<ReturnType<typeof openBound>>

/** The nonce that a refusal brings. */
async function fetchNonce({ tokens, createRequest, prove }: Bound): Promise<string> {
  const refused = await tokens.accessTokenRequired(createRequest(prove())).catch((error: unknown) => error)
  return (refused as { dpop: { nonce: string } }).dpop.nonce
}

/** A nonce as we make them, with any secret. */
function forgeNonce(time: Uint8Array, secret = SECRET, length = 16): string {
  const mac = createHmac('sha256', secret).update('tokenlib DPoP nonce').update(time).digest()
  return encode(Buffer.concat([time, mac.subarray(0, length)]))
}

function toTime(milliseconds: number, length = 6): Buffer {
  const time = Buffer.alloc(length)
  time.writeUIntBE(milliseconds, length - 6, 6)
  return time
}

describeAttacks('a nonce that this server has not made, or not now (RFC 9449 §8, §9 and §11.3)', () => {
  ownAttack('forged, of another secret, of another length, and in another spelling', async () => {
    const bound = await openBound({ dpop: { nonceSecret: SECRET } })
    const { prove, call } = bound
    const honest = await fetchNonce(bound)
    expect(forgeNonce(toTime(NOW * 1000))).toBe(honest)
    expect(await call(prove({ claims: { nonce: honest } }))).toBe('ok')
    const bytes = Buffer.from(honest, 'base64url')
    const flipped = Array.from(bytes, (byte, at) => encode(Uint8Array.from(bytes).with(at, byte ^ 1)))
    for (const nonce of [
      undefined,
      '',
      ' ',
      'a',
      ...flipped,
      forgeNonce(toTime(NOW * 1000), OTHER_SECRET),
      forgeNonce(toTime(NOW * 1000), ''),
      forgeNonce(toTime(NOW * 1000), SECRET, 0),
      forgeNonce(toTime(NOW * 1000), SECRET, 15),
      forgeNonce(toTime(NOW * 1000), SECRET, 17),
      forgeNonce(toTime(NOW * 1000), SECRET, 32),
      forgeNonce(toTime(NOW * 1000, 7)),
      forgeNonce(toTime(NOW * 1000).subarray(1)),
      forgeNonce(Buffer.alloc(0)),
      honest.slice(0, -1),
      honest.slice(1),
      `${honest}A`,
      `${honest}=`,
      `${honest}==`,
      ` ${honest}`,
      `${honest}\n`,
      `${honest},${honest}`,
      honest.toLowerCase() === honest ? '' : honest.toLowerCase(),
      encode('\0'.repeat(22)),
      'A'.repeat(2000),
      '\u00e9'.repeat(30),
      '__proto__',
    ]) {
      expect(await call(prove({ claims: { nonce } })), JSON.stringify(nonce)).toBe('PROOF_NONCE_REQUIRED')
    }
    for (const nonce of [null, 7, true, [honest], { nonce: honest }]) {
      expect(await call(prove({ claims: { nonce } })), JSON.stringify(nonce)).toBe('PROOF_INVALID')
    }
    // In the header of the proof, it is none.
    expect(await call(prove({ header: { nonce: honest } }))).toBe('PROOF_NONCE_REQUIRED')
  })

  ownAttack('too old, or from the future', async () => {
    const bound = await openBound({ dpop: { nonceSecret: SECRET, nonceMaxAge: '2m' } })
    const { prove, call, clock } = bound
    const nonce = await fetchNonce(bound)
    const send = (sent: string) => call(prove({ claims: { nonce: sent, iat: clock.seconds } }))
    clock.seconds = NOW + 120
    expect(await send(nonce)).toBe('ok')
    clock.seconds = NOW + 120.001
    expect(await send(nonce)).toBe('PROOF_NONCE_REQUIRED')
    clock.seconds = NOW
    for (const [time, outcome] of [
      [NOW * 1000 + 5000, 'ok'],
      [NOW * 1000 + 5001, 'PROOF_NONCE_REQUIRED'],
      [NOW * 1000 - 120_001, 'PROOF_NONCE_REQUIRED'],
      [NOW, 'PROOF_NONCE_REQUIRED'],
      [0, 'PROOF_NONCE_REQUIRED'],
      [2 ** 48 - 1, 'PROOF_NONCE_REQUIRED'],
    ] as const) {
      expect(await send(forgeNonce(toTime(time))), String(time)).toBe(outcome)
    }
  })

  ownAttack('of the manager before, whose secret was replaced', async () => {
    const before = await openBound({ dpop: { nonceSecret: SECRET } })
    const after = await openBound({ dpop: { nonceSecret: OTHER_SECRET } })
    const nonce = await fetchNonce(before)
    expect(await after.call(after.prove({ claims: { nonce } }))).toBe('PROOF_NONCE_REQUIRED')
    expect(await before.call(before.prove({ claims: { nonce } }))).toBe('ok')
  })

  ownAttack('a good nonce in a proof that is bad otherwise, or that was used', async () => {
    const bound = await openBound({ dpop: { nonceSecret: SECRET } })
    const { prove, call, accessToken } = bound
    const nonce = await fetchNonce(bound)
    const claims = { nonce }
    expect(await call(prove({ claims: { nonce, iat: NOW - 61 } }))).toBe('PROOF_INVALID')
    expect(await call(prove({ claims, method: 'POST' }))).toBe('PROOF_INVALID')
    expect(await call(prove({ claims: { nonce, ath: nonce } }))).toBe('PROOF_INVALID')
    expect(await call(nonce)).toBe('PROOF_INVALID')
    expect(await call(null)).toBe('PROOF_REQUIRED')
    const proof = prove({ claims })
    expect(await call(proof)).toBe('ok')
    expect(await call(proof)).toBe('PROOF_REUSED')
    expect(await call(prove({ claims }), { token: accessToken, scheme: 'Bearer' })).toBe('PROOF_REQUIRED')
  })

  ownAttack('a proof without memory works until its nonce or itself is too old, and no longer', async () => {
    const bound = await openBound({
      dpop: { nonceSecret: SECRET, rememberProofs: false, nonceMaxAge: '30s' },
    })
    const { tokens, clock, createRequest, prove } = bound
    const request = createRequest(prove({ claims: { nonce: await fetchNonce(bound) } }))
    for (const [seconds, outcome] of [
      [0, 'ok'],
      [30, 'ok'],
      [30.001, 'PROOF_NONCE_REQUIRED'],
      [61, 'PROOF_INVALID'],
    ] as const) {
      clock.seconds = NOW + seconds
      expect(await outcomeOf(tokens.accessTokenRequired(new Request(request))), String(seconds)).toBe(outcome)
    }
  })
})
