import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { forge, SECRET } from './harness/forge.js'

// RFC 7515 §4.1.9: in any case, and with or without "application/".
const OURS =
  'JWT jwt Jwt application/jwt application/JWT APPLICATION/JWT at+jwt AT+JWT at+JWT application/at+jwt Application/At+Jwt'.split(
    ' ',
  )

// Other kinds of JWT, each with rules of its own, that the same key may sign.
const OTHERS =
  'dpop+jwt secevent+jwt logout+jwt statuslist+jwt token-introspection+jwt oauth-authz-req+jwt rt+jwt refresh+jwt id+jwt kb+jwt dc+sd-jwt passport JWE JOSE JOSE+JSON'.split(
    ' ',
  )

describeAttacks('a JWT of another kind, signed with the same key (RFC 8725 §3.11, RFC 7515 §4.1.9)', () => {
  ownAttack('another kind of token', async () => {
    const { accepts, refuses } = createChecks()
    await accepts(OURS)
    await refuses([
      ...OTHERS,
      ...OTHERS.map((typ) => `application/${typ}`),
      ...OTHERS.map((typ) => typ.toUpperCase()),
    ])
  })

  ownAttack('a name with our own inside it', async () => {
    const { accepts, refuses } = createChecks()
    await accepts(OURS)
    const prefixes = 'text/jwt application/application/jwt /jwt application//jwt application/ x/at+jwt'
    const middles = 'jwapplication/t at+application/jwt jwtapplication/ aapplication/t+jwt'
    const parts = 'jw jwtx xjwt at+jwt+x at at+ +jwt at-jwt jwt;a=b jwt,at+jwt'
    await refuses([prefixes, middles, parts].flatMap((names) => names.split(' ')))
  })

  ownAttack('our own in characters that only look like it', async () => {
    const { accepts, refuses } = createChecks()
    await accepts(OURS)
    await refuses(['JWT ', ' JWT', 'JWT\0', 'JWT\n', 'ＪＷＴ', 'JШT', 'ᎫWT', '\uFEFFJWT', 'JW\u200BT', ''])
  })

  ownAttack('a type that is no text', async () => {
    const { accepts, refuses } = createChecks()
    await accepts(OURS)
    await refuses([null, true, false, 0, 1, [], ['JWT'], {}, { toString: 'JWT' }, { toLowerCase: 'jwt' }])
  })

  ownAttack('no type is no other type, and an inherited one is none', async () => {
    const tokens = createManager()
    await tokens.verify(forge({ header: { alg: 'HS256' } }))
    // A name that is not "typ" says nothing about the type.
    await tokens.verify(forge({ header: { alg: 'HS256', Typ: 'dpop+jwt', TYP: 'dpop+jwt' } }))
    const inherited = forge({ header: '{"alg":"HS256","__proto__":{"typ":"dpop+jwt"}}' })
    const twice = forge({ header: '{"alg":"HS256","typ":"dpop+jwt","typ":"JWT"}' })
    await expect(tokens.verify(twice)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    expect((await tokens.verify(inherited).catch(() => null))?.['typ']).toBeUndefined()
  })
})

function createManager(): TokenManager {
  return new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
}

function createChecks() {
  const tokens = createManager()
  const check = (typ: unknown) => tokens.verify(forge({ header: { alg: 'HS256', typ } }))
  return {
    async accepts(types: readonly unknown[]) {
      for (const typ of types) expect((await check(typ)).sub, String(typ)).toBe('ada')
    },
    async refuses(types: readonly unknown[]) {
      for (const typ of types) {
        await expect(check(typ), JSON.stringify(typ)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
      }
    },
  }
}
