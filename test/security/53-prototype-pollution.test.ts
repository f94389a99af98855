import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { assertWithstood, attack, describeAttacks, type Lab, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const
const honest = JSON.stringify(CLAIMS).slice(0, -1)
const POLLUTION = '{"admin":true,"isRevoked":false,"exp":9999999999}'

const HOSTILE = [
  `${honest},"__proto__":${POLLUTION}}`,
  `${honest},"\\u005f_proto__":${POLLUTION}}`,
  `${honest},"constructor":{"prototype":${POLLUTION}}}`,
  `{"__proto__":${POLLUTION},${honest.slice(1)}}`,
]
const NESTED = [
  `${honest},"profile":{"__proto__":${POLLUTION}}}`,
  `${honest},"list":[{"__proto__":${POLLUTION}}]}`,
]

describeAttacks('claims that are named like parts of an object (CVE-2024-34273, CVE-2026-31865)', () => {
  attack('no object of the program changes, and the claims have no members but their own', async (lab) => {
    for (const text of [...HOSTILE, ...NESTED]) {
      const claims = await readClaims(lab, text)
      for (const object of [claims ?? {}, {}, [], () => {}] as Record<string, unknown>[]) {
        assertWithstood(object['admin'] === undefined, `${lab.target.name} made an administrator`)
      }
    }
  })

  // Object.assign into an object with a prototype would change that prototype, for any JSON from anywhere.
  attack('nor does a copy of the claims', async (lab) => {
    for (const text of HOSTILE) {
      const claims = await readClaims(lab, text)
      if (claims === null) continue
      const rebuilt = Object.fromEntries(Object.entries(claims))
      for (const copy of [{ ...claims }, rebuilt, structuredClone(claims)] as Record<string, unknown>[]) {
        assertWithstood(copy['admin'] === undefined, `${lab.target.name} handed on an administrator`)
      }
    }
  })

  ownAttack('a claim that is not there is undefined, whatever it is called', async () => {
    const tokens = createManager()
    const payload = (await tokens.verify(forge())) as Record<string, unknown>
    expect(payload['sub']).toBe(CLAIMS.sub)
    for (const name of [
      'toString',
      'constructor',
      'valueOf',
      'hasOwnProperty',
      '__proto__',
      '__defineGetter__',
    ]) {
      expect(payload[name], name).toBeUndefined()
    }
  })

  ownAttack('what every object has is no identity', async () => {
    const { sub: _, ...claims } = CLAIMS
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const tokens = createManager({ JWT_IDENTITY_CLAIM: name })
      await expect(tokens.verify(forge({ claims }))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      await expect(tokens.verify(forge())).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
    const tokens = createManager({ JWT_IDENTITY_CLAIM: 'constructor' })
    expect((await tokens.verify(forge({ claims: { ...claims, constructor: 'ada' } }))).sub).toBe('ada')
  })

  ownAttack('what a header inherits is no member of it', async () => {
    const tokens = createManager()
    await tokens.verify(forge({ header: '{"alg":"HS256"}' }))
    for (const header of ['{"__proto__":{"alg":"HS256"}}', '{"constructor":{"alg":"HS256"}}']) {
      await expect(tokens.verify(forge({ header }))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })

  ownAttack('what one request writes into its claims, no other one reads', async () => {
    const tokens = createManager()
    const token = forge({ claims: { ...CLAIMS, roles: ['user'], profile: { name: 'Ada' } } })
    const payload = (await tokens.verify(token)) as unknown as {
      sub: string
      roles: string[]
      profile: object
    }
    const writes = [
      () => Reflect.set(payload, 'sub', 'root'),
      () => Reflect.set(payload.roles, 0, 'admin'),
      () => Reflect.set(payload.profile, 'name', 'root'),
      () => Reflect.defineProperty(payload, 'admin', { value: true }),
      () => Reflect.setPrototypeOf(payload, { admin: true }),
    ]
    for (const write of writes) expect(write()).toBe(false)
    expect(() => payload.roles.push('admin')).toThrow(TypeError)
    expect(await tokens.verify(token)).toMatchObject({
      sub: 'ada',
      roles: ['user'],
      profile: { name: 'Ada' },
    })
  })
})

function createManager(options: TokenConfigOptions = {}): TokenManager {
  return new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...options }) })
}

// What the library makes of claims, or `null` where it refuses them.
async function readClaims({ open, target }: Lab, claims: string): Promise<Record<string, unknown> | null> {
  const verifier = await open(OPTIONS, forge())
  try {
    return await verifier.accepts(forge({ claims }))
  } catch (error) {
    if (!target.isRefusal(error)) throw error
    return null
  }
}
