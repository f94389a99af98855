import { expect, vi } from 'vitest'
import { type ClaimsSchema, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, NOW, SECRET } from './harness/forge.js'
import { forgeAs, openAs } from './harness/keys-for.js'

/** Tokens that must be refused before anyone reads what they say. */
const FORGED = [
  forge({ key: 'the secret of the attacker' }),
  forge({ signature: Buffer.alloc(32) }),
  forge({ claims: { ...CLAIMS, sub: 'grace' }, signature: forge().split('.')[2] ?? '' }),
  forge({ claims: { ...CLAIMS, exp: NOW - 1 }, key: 'the secret of the attacker' }),
  forge({ header: { alg: 'HS512', typ: 'JWT' } }),
]

describeAttacks('a callback that is given claims nobody signed (CVE-2025-65945)', () => {
  attack('claims that name the key, the algorithm or the issuer to verify with', async (lab) => {
    const verifier = await openAs(lab, 'RS256')
    const names = [{ kid: 'mine' }, { alg: 'none' }, { alg: 'HS256' }, { iss: 'https://attacker.example' }]
    for (const members of [...names, { jku: 'https://attacker.example/jwks.json' }, { verified: true }]) {
      const claims = { ...CLAIMS, ...members }
      await verifier.refuses(forge({ claims, header: { alg: 'RS256', typ: 'JWT' }, key: SECRET }))
      await verifier.refuses(forgeAs('RS256', { claims, signature: Buffer.alloc(256) }))
      await verifier.refuses(forge({ claims, key: SECRET }))
    }
  })

  ownAttack('the revocation callback', async () => {
    const tokens = createTokens()
    const callback = tokens.setCallbackTokenBlocklist(vi.fn(() => false))
    for (const forged of FORGED) await expect(tokens.verify(forged)).rejects.toThrow(Error)
    expect(callback).not.toHaveBeenCalled()
    await tokens.verify(forge())
    expect(callback).toHaveBeenCalledTimes(1)
  })

  ownAttack('the subject getter', async () => {
    const tokens = createTokens()
    const getter = tokens.setSubjectGetter(vi.fn((uid: string) => ({ uid })))
    for (const forged of FORGED)
      await expect(tokens.getCurrentSubject(withBearer(forged))).rejects.toThrow(Error)
    expect(getter).not.toHaveBeenCalled()
    expect(await tokens.getCurrentSubject(withBearer(forge()))).toStrictEqual({ uid: 'ada' })
    expect(getter).toHaveBeenCalledTimes(1)
  })

  ownAttack('the schema of the claims', async () => {
    const validate = vi.fn((value: unknown) => ({ value: value as object }))
    const claims: ClaimsSchema = { '~standard': { version: 1, vendor: 'test', validate } }
    const tokens = createTokens({ claims })
    for (const forged of FORGED) await expect(tokens.verify(forged)).rejects.toThrow(Error)
    expect(validate).not.toHaveBeenCalled()
    await tokens.verify(forge())
    expect(validate).toHaveBeenCalledTimes(1)
  })

  ownAttack('the listeners: they hear of the refusal, and nothing that the token says', async () => {
    const tokens = createTokens()
    const listener = vi.fn()
    tokens.on('rejected', listener)
    for (const forged of FORGED) await expect(tokens.verify(forged)).rejects.toThrow(Error)
    expect(listener).toHaveBeenCalledTimes(FORGED.length)
    for (const [event] of listener.mock.calls)
      expect(event).toMatchObject({ sub: null, jti: null, sid: null })
    // What a genuine token says is told, though it is refused.
    await expect(tokens.verify(forge({ claims: { ...CLAIMS, type: 'refresh' } }))).rejects.toThrow(Error)
    expect(listener).toHaveBeenLastCalledWith(expect.objectContaining({ sub: 'ada', jti: 'honest-token' }))
  })
})

function createTokens(options: { readonly claims?: ClaimsSchema } = {}) {
  return new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }), ...options })
}

function withBearer(token: string): Request {
  return new Request('https://app.example/', { headers: { authorization: `Bearer ${token}` } })
}
