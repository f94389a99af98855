import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { withBearer } from '../helpers/manager.js'
import { assertWithstood, attack, AttackSucceeded, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'
import type { Verify } from './harness/target.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET, issuer: 'https://id.example', audience: 'api' } as const
const honest = { ...CLAIMS, iss: OPTIONS.issuer, aud: OPTIONS.audience }

// What an application might forgive, each by itself.
const FORGIVABLE: Readonly<Record<string, object>> = {
  'has expired': { ...honest, exp: NOW - 60 },
  'is not valid yet': { ...honest, nbf: NOW + 60 },
  'is of another issuer': { ...honest, iss: 'https://other.example' },
  'is for another audience': { ...honest, aud: 'other' },
}

const FORGED_KEY = 'y'.repeat(64)

describeAttacks('claims that are looked at before the signature (CVE-2024-51744)', () => {
  for (const [fault, claims] of Object.entries(FORGIVABLE)) {
    attack(`a forged token that also ${fault} is not taken for a genuine one that ${fault}`, async (lab) => {
      await lab.open(OPTIONS, forge({ claims: honest }))
      const verify = (await lab.target.open(OPTIONS)) as Verify
      const genuine = await kindOfRefusal(verify, forge({ claims }))
      const forged = await kindOfRefusal(verify, forge({ claims, key: FORGED_KEY }))
      // Anyone who catches the one and goes on, for a refresh or a grace, goes on with the other.
      assertWithstood(forged !== genuine, `${lab.target.name} says ${forged} of both`)
    })
  }

  ownAttack('whatever else is wrong with a forged token, it is forged', async () => {
    const tokens = createManager({ JWT_DECODE_ISSUER: OPTIONS.issuer, JWT_DECODE_AUDIENCE: 'api' })
    await tokens.verify(forge({ claims: honest }))
    const others = [{}, { sub: 5 }, { ...honest, type: 'refresh' }, { ...honest, exp: 'soon' }]
    for (const claims of [...Object.values(FORGIVABLE), ...others, '[]', 'no JSON', '\uFEFF{}']) {
      const token = forge({ claims, key: FORGED_KEY })
      await expect(tokens.verify(token)).rejects.toMatchObject({ code: 'TOKEN_SIGNATURE_INVALID' })
    }
  })

  ownAttack('where an expired token is allowed, a forged one is not', () => {
    const tokens = createManager()
    const claims = { ...CLAIMS, exp: NOW - 60 }
    const allow = { allowExpired: true } as const
    expect(internalsOf(tokens).verifyWithoutRevocation(forge({ claims }), allow).sub).toBe(CLAIMS.sub)
    expect(() =>
      internalsOf(tokens).verifyWithoutRevocation(forge({ claims, key: FORGED_KEY }), allow),
    ).toThrow(expect.objectContaining({ code: 'TOKEN_SIGNATURE_INVALID' }))
  })

  ownAttack('no code of the application sees a claim of a forged token', async () => {
    const seen: string[] = []
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      claims: {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate: (value) => (seen.push('schema'), { value: value as object }),
        },
      },
      subjectGetter: () => (seen.push('subject'), {}),
    })
    tokens.setTokenBlocklist(() => (seen.push('blocklist'), false))
    await tokens.getCurrentSubject(withBearer(forge()))
    expect(seen).toEqual(['schema', 'blocklist', 'subject'])
    seen.length = 0
    const forged = withBearer(forge({ key: FORGED_KEY }))
    await expect(tokens.getCurrentSubject(forged)).rejects.toMatchObject({ code: 'TOKEN_SIGNATURE_INVALID' })
    expect(seen).toEqual([])
  })
})

function createManager(options: TokenConfigOptions = {}): TokenManager {
  return new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }) })
}

// What a program can tell errors apart by, the text too; not the token in it.
async function kindOfRefusal(verify: Verify, token: string): Promise<string> {
  try {
    await verify(token)
  } catch (error) {
    const { name, code = '', message } = error as Error & { code?: string }
    return [name, code, message.replaceAll(token, '…')].filter((word) => word !== '').join(', ')
  }
  throw new AttackSucceeded('It was taken')
}
