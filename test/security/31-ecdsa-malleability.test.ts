import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, encode, flipS, keyPairOf } from './harness/forge.js'
import { forgeAs, openAs } from './harness/keys-for.js'

// How many tokens of each; the larger curves are slow to sign with.
const COUNTS = { ES256: 60, ES384: 20, ES512: 20 } as const
const ALGORITHMS = ['ES256', 'ES384', 'ES512'] as const

/** The same token with the other signature that it has. */
function flip(token: string, algorithm: string): string {
  const at = token.lastIndexOf('.') + 1
  return token.slice(0, at) + encode(flipS(Buffer.from(token.slice(at), 'base64url'), algorithm))
}

describeAttacks('ECDSA tokens with a second signature (CVE-2026-102269, SEC 1 §4.1)', () => {
  attack('s turned into n - s, in a hundred tokens', async (lab) => {
    for (const algorithm of ALGORITHMS) {
      const verifier = await openAs(lab, algorithm)
      for (let count = 0; count < COUNTS[algorithm]; count++) {
        const token = forgeAs(algorithm, { claims: { ...CLAIMS, jti: `token-${count}` } })
        await verifier.refuses(flip(token, algorithm))
      }
    }
  })

  ownAttack('a revoked token comes back with its other signature', async () => {
    for (const algorithm of ALGORITHMS) {
      const config = new TokenConfig({
        JWT_ALGORITHM: algorithm,
        JWT_PRIVATE_KEY: keyPairOf(algorithm).privateKey,
      })
      const tokens = new TokenManager({ config })
      // The naive list of the specification: whole tokens.
      const revoked = new Set<string>()
      tokens.setCallbackTokenBlocklist((token) => revoked.has(token))
      for (let count = 0; count < 5; count++) {
        const token = tokens.createAccessToken({ uid: 'ada' })
        await tokens.verify(token)
        revoked.add(token)
        await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
        await expect(tokens.verify(flip(token, algorithm))).rejects.toMatchObject({
          code: 'TOKEN_SIGNATURE_INVALID',
        })
      }
    }
  })
})
