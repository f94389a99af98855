import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const

/** Claims in which one has the given JSON text, to the letter. */
const withText = (claim: string, json: string): string => {
  const { [claim as 'exp']: _, ...others } = CLAIMS
  return JSON.stringify({ ...others, claim: 0 }).replace('"claim":0', `"${claim}":${json}`)
}

const FUTURE = NOW + 600
const PAST = NOW - 600

// Texts that would hold if somebody made numbers of them.
const textsOf = (date: number): string[] => [
  `"${date}"`,
  `"${date}.0"`,
  `"${date.toString(16)}"`,
  `" ${date}"`,
]

const OTHER_KINDS = ['null', 'true', 'false', '""', '[]', '{}', '"NaN"', '"Infinity"', '"never"']

describeAttacks('dates that are no numbers (CVE-2026-25537, CVE-2026-44459, RFC 7519 §4.1.4)', () => {
  attack('an expiry that is a text', async ({ open }) => {
    const verifier = await open(OPTIONS, forge({ claims: withText('exp', `${FUTURE}`) }))
    for (const json of textsOf(FUTURE)) await verifier.refuses(forge({ claims: withText('exp', json) }))
  })

  attack('an expiry that is of another kind, and taken for none', async ({ open }) => {
    const verifier = await open(OPTIONS, forge({ claims: withText('exp', `${FUTURE}`) }))
    const boxed = [`[${FUTURE}]`, `{"$numberLong":"${FUTURE}"}`, `{"valueOf":${FUTURE}}`]
    for (const json of [...OTHER_KINDS, ...boxed]) {
      await verifier.refuses(forge({ claims: withText('exp', json) }))
    }
  })

  attack('an expiry too large for a number, which never comes', async ({ open }) => {
    const verifier = await open(OPTIONS, forge({ claims: withText('exp', `${FUTURE}`) }))
    for (const json of ['1e400', '1E+999', '9'.repeat(400), `${'9'.repeat(309)}.5`]) {
      await verifier.refuses(forge({ claims: withText('exp', json) }))
    }
  })

  attack('a beginning that is a text', async ({ open }) => {
    const verifier = await open(OPTIONS, forge({ claims: withText('nbf', `${PAST}`) }))
    for (const json of textsOf(FUTURE)) await verifier.refuses(forge({ claims: withText('nbf', json) }))
  })

  attack('a beginning that is of another kind, and taken for none', async ({ open }) => {
    const verifier = await open(OPTIONS, forge({ claims: withText('nbf', `${PAST}`) }))
    for (const json of [...OTHER_KINDS, `[${PAST}]`, `{"valueOf":${PAST}}`]) {
      await verifier.refuses(forge({ claims: withText('nbf', json) }))
    }
  })

  attack('a beginning too large for a number, which never comes', async ({ open }) => {
    const verifier = await open(OPTIONS, forge({ claims: withText('nbf', `${PAST}`) }))
    for (const json of ['1e400', '9'.repeat(400)]) {
      await verifier.refuses(forge({ claims: withText('nbf', json) }))
    }
  })

  ownAttack('a date of issue that is no number: revocations count from it', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    expect((await tokens.verify(forge({ claims: withText('iat', `${PAST}`) }))).iat).toBe(PAST)
    for (const json of [...OTHER_KINDS, ...textsOf(PAST), '1e400', '-1e400', `[${PAST}]`]) {
      const token = forge({ claims: withText('iat', json) })
      await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
    // Issued in the future, a token would outlive every revocation until then.
    const future = forge({ claims: withText('iat', `${NOW + 1}`) })
    await expect(tokens.verify(future)).rejects.toMatchObject({ code: 'TOKEN_NOT_YET_VALID' })
  })

  ownAttack('a freshness that is no date', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    const check = (json: string) => tokens.verify(forge({ claims: withText('fresh', json) }), { fresh: true })
    expect((await check(`${FUTURE}`)).fresh).toBe(FUTURE)
    for (const json of ['"true"', `"${FUTURE}"`, '1e400', '[true]', '{}', 'null']) {
      await expect(check(json)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
    for (const json of ['false', '0', '1', '-1', `${NOW}`]) {
      await expect(check(json)).rejects.toMatchObject({ code: 'FRESH_TOKEN_REQUIRED' })
    }
  })
})
