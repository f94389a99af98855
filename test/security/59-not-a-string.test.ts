import { expect } from 'vitest'
import { isTokenError, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, forge, SECRET } from './harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const OPTIONS = { algorithm: 'HS256', key: SECRET } as const

describeAttacks('a token that is not a text (CVE-2022-23529, withdrawn; CWE-843)', () => {
  attack('what a JSON body can carry in the place of a token', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const token = forge()
    const [header, payload, signature] = token.split('.')
    const values = [
      [token],
      [[token]],
      token.split('.'),
      { token },
      { 0: token, length: 1 },
      { payload, signature, protected: header },
    ]
    for (const value of values) await verifier.refuses(JSON.parse(JSON.stringify(value)))
  })

  attack('an object that turns into a token when asked', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const token = forge()
    const objects: readonly unknown[] = [
      { toString: () => token },
      { valueOf: () => token },
      { toJSON: () => token },
      { [Symbol.toPrimitive]: () => token },
      Object.assign([], { toString: () => token }),
      Object.assign(() => token, { toString: () => token }),
    ]
    for (const object of objects) await verifier.refuses(object)
  })

  attack('an object that is another token each time it is asked', async ({ open }) => {
    const verifier = await open(OPTIONS, forge())
    const texts = [forge(), forge({ claims: { ...CLAIMS, sub: 'root' }, signature: 'A'.repeat(43) })]
    let asked = 0
    await verifier.refuses({ toString: () => texts[asked++ % 2] })
    await verifier.refuses({ [Symbol.toPrimitive]: () => texts[asked++ % 2] })
  })

  ownAttack('a boxed text, bytes, or a promise of a token: nothing is unpacked', async () => {
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET }),
      store: createMemoryStore(),
    })
    const token = forge()
    expect((await tokens.verify(token)).sub).toBe(CLAIMS.sub)
    const bytes = Buffer.from(token)
    const values = [
      new String(token),
      bytes,
      new Uint8Array(bytes),
      bytes.buffer,
      Promise.resolve(token),
      new URLSearchParams({ token }),
    ]
    for (const value of values as unknown[] as string[]) {
      await expect(tokens.verify(value)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      expect(() => internalsOf(tokens).verifyWithoutRevocation(value)).toThrow(
        expect.objectContaining({ code: 'TOKEN_INVALID' }),
      )
    }
  })

  ownAttack('nothing of such an object runs', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    await tokens.verify(forge())
    const asked: PropertyKey[] = []
    const spy = new Proxy(
      {},
      {
        get: (_, name) => (asked.push(name), undefined),
        has: (_, name) => (asked.push(name), false),
        getOwnPropertyDescriptor: (_, name) => (asked.push(name), undefined),
      },
    )
    await expect(tokens.verify(spy as string)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect(asked).toEqual([])
  })

  ownAttack('a body whose token is no text is a bad request, not a request without a token', async () => {
    const tokens = new TokenManager({
      config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_TOKEN_LOCATION: 'json' }),
    })
    const optional = tokens.require({ optional: true })
    const send = (access_token: unknown) =>
      optional({ method: 'POST', headers: { 'content-type': 'application/json' }, body: { access_token } })
    expect((await send(forge()))?.sub).toBe(CLAIMS.sub)
    for (const value of [[forge()], { toString: forge() }, 0, 1, true, false, [], {}, Buffer.from(forge())]) {
      const error = await send(value).catch((thrown: unknown) => thrown)
      expect(isTokenError(error), JSON.stringify(value)).toBe(true)
    }
  })
})
