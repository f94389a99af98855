import { expect } from 'vitest'
import { TokenConfig } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

const ISSUER = 'https://id.example'
const OPTIONS = { algorithm: 'HS256', key: SECRET, issuer: ISSUER } as const
const withIssuer = (iss: unknown): string => forge({ claims: { ...CLAIMS, iss } })

describeAttacks('an issuer that only looks like ours (CVE-2025-30144, CVE-2024-53861)', () => {
  attack('a list with our issuer in it', async ({ open }) => {
    const verifier = await open(OPTIONS, withIssuer(ISSUER))
    for (const iss of [
      [ISSUER],
      ['https://evil.example', ISSUER],
      [[ISSUER]],
      { 0: ISSUER },
      { iss: ISSUER },
    ]) {
      await verifier.refuses(withIssuer(iss))
    }
  })

  attack('a part of our issuer, or more than it', async ({ open }) => {
    const verifier = await open(OPTIONS, withIssuer(ISSUER))
    const parts = ['', 'h', 'https://', 'https://id', 'id.example', ISSUER.slice(0, -1), ISSUER.slice(1)]
    const more = [
      `${ISSUER}/`,
      `${ISSUER}.evil.example`,
      `${ISSUER}@evil.example`,
      `x${ISSUER}`,
      `${ISSUER}?`,
    ]
    for (const iss of [...parts, ...more]) await verifier.refuses(withIssuer(iss))
  })

  attack('our issuer in another spelling', async ({ open }) => {
    const verifier = await open(OPTIONS, withIssuer(ISSUER))
    const spellings = [
      'https://ID.example',
      'HTTPS://id.example',
      'http://id.example',
      'https://id.example:443',
    ]
    const blanks = [
      ` ${ISSUER}`,
      `${ISSUER} `,
      `${ISSUER}\n`,
      `${ISSUER}\0`,
      `${ISSUER}\u200B`,
      `\uFEFF${ISSUER}`,
    ]
    for (const iss of [...spellings, ...blanks]) await verifier.refuses(withIssuer(iss))
  })

  attack('an issuer of another kind', async ({ open }) => {
    const verifier = await open(OPTIONS, withIssuer(ISSUER))
    for (const iss of [null, true, false, 0, 1, {}, [], { toString: ISSUER }])
      await verifier.refuses(withIssuer(iss))
  })

  attack('no issuer at all, where one is demanded', async ({ open }) => {
    const verifier = await open(OPTIONS, withIssuer(ISSUER))
    await verifier.refuses(forge())
  })

  ownAttack('a pattern is no issuer, alone or in a list, and neither is an empty list', () => {
    expect(new TokenConfig({ JWT_DECODE_ISSUER: ISSUER }).JWT_DECODE_ISSUER).toBe(ISSUER)
    for (const issuer of [
      /id\.example/,
      /./g,
      [/./],
      [[ISSUER]],
      [],
      [''],
      '',
      { test: () => true },
      () => true,
    ]) {
      expect(() => new TokenConfig({ JWT_DECODE_ISSUER: issuer as string })).toThrow(
        expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
      )
    }
  })
})
