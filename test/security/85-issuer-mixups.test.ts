import { expect } from 'vitest'
import type { TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import type { IssuerOptions } from '../../packages/issuers/src/index.js'
import { AUDIENCE, createForeign, createReceiver, type Foreign } from '../helpers/foreign.js'
import { createClock, SECRET, withBearer } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { encode, forge, publicHalf } from './harness/forge.js'
import { countWork } from './limits/count-work.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const A = createForeign('https://a.example', { kid: 'same' })
const B = createForeign('https://b.example', { kid: 'same', algorithm: 'RS256' })
const US = 'https://us.example'

const ISSUERS: readonly IssuerOptions[] = [
  A.options({ algorithms: ['ES256'], subjectPrefix: 'a:' }),
  B.options({ algorithms: ['RS256'], subjectPrefix: 'b:', audience: 'https://api-of-b.example' }),
]
const AUD_B = { aud: 'https://api-of-b.example' }

/** A manager that takes honest tokens of A, of B and of its own. */
async function openHonest(
  config: TokenConfigOptions = {},
  issuers: readonly IssuerOptions[] = ISSUERS,
): Promise<TokenManager> {
  const { tokens } = createReceiver(issuers, {
    config: { JWT_ENCODE_ISSUER: US, JWT_DECODE_ISSUER: US, ...config },
  })
  expect((await tokens.verify(A.sign())).sub).toBe('a:ada')
  expect((await tokens.verify(B.sign(AUD_B))).sub).toBe('b:ada')
  const own = tokens.createAccessToken({ uid: 'ada' })
  expect((await tokens.verify(own)).sub).toBe('ada')
  return tokens
}

/** Refused at every entry point, and always as a token, not with an exception. */
async function refuse(tokens: TokenManager, token: string, title = ''): Promise<void> {
  const outcomes = [
    await outcomeOf(tokens.verify(token)),
    await outcomeOf(tokens.accessTokenRequired(withBearer(token))),
    await outcomeOf(tokens.sockets.authenticate(withBearer(token))),
    await outcomeOf((async () => internalsOf(tokens).verifyWithoutRevocation(token))()),
    (await tokens.logout(withBearer(token))) === null ? 'TOKEN_INVALID' : 'ok',
  ]
  for (const outcome of outcomes) {
    expect(outcome, title).toMatch(/^TOKEN_(?:INVALID|SIGNATURE_INVALID|ISSUER_INVALID|AUDIENCE_INVALID)$/)
  }
}

const signedBy = (signer: Foreign, claims: object, header: object = {}) =>
  signer.forge({ claims, header: { alg: signer.algorithm, typ: 'at+jwt', kid: 'same', ...header } })

describeAttacks('a token of one issuer that passes for one of another (RFC 9700 §4.4, RFC 8725 §3.8)', () => {
  ownAttack('a token of A in the name of B, or in ours', async () => {
    const tokens = await openHonest()
    for (const iss of [B.issuer, US]) {
      for (const aud of [AUDIENCE, AUD_B.aud, [AUDIENCE, AUD_B.aud]]) {
        await refuse(tokens, signedBy(A, A.claims({ iss, aud, type: 'access' })), iss)
        await refuse(tokens, signedBy(A, A.claims({ iss, aud, type: 'access' }), { kid: undefined }), iss)
      }
    }
    await refuse(tokens, signedBy(B, B.claims({ iss: A.issuer })))
  })

  ownAttack('a token in the name of A or B, signed with our own key', async () => {
    for (const algorithm of ['HS256', 'ES256', 'RS256'] as const) {
      const own = createForeign(US, { algorithm: algorithm === 'HS256' ? 'ES256' : algorithm, kid: 'same' })
      const isSecret = algorithm === 'HS256'
      const config: TokenConfigOptions = isSecret
        ? {}
        : { JWT_ALGORITHM: algorithm, JWT_SECRET_KEY: null, JWT_PRIVATE_KEY: own.privateKey }
      const tokens = await openHonest(config)
      for (const [iss, aud] of [
        [A.issuer, AUDIENCE],
        [B.issuer, AUD_B.aud],
      ]) {
        for (const kid of ['same', undefined, tokens.keys.current ?? '']) {
          const header = { alg: algorithm, typ: 'JWT', kid }
          const claims = A.claims({ iss, aud, type: 'access' })
          const key = isSecret ? SECRET : own.privateKey
          await refuse(tokens, forge({ algorithm, key, header, claims }), `${algorithm} ${iss} ${kid}`)
        }
      }
    }
  })

  ownAttack('the same kid in A, in B and with us names three different keys', async () => {
    const own = createForeign(US, { kid: 'same' })
    const tokens = await openHonest({
      JWT_ALGORITHM: 'ES256',
      JWT_SECRET_KEY: null,
      JWT_PRIVATE_KEY: { ...own.privateKey.export({ format: 'jwk' }), kid: 'same' } as never,
    })
    expect(tokens.keys.current).toBe('same')
    await refuse(tokens, signedBy(A, own.claims({ type: 'access' })))
    await refuse(tokens, signedBy(own, A.claims({ type: 'access' })))
    await tokens.revoke.key('same')
    expect(await outcomeOf(tokens.verify(A.sign()))).toBe('ok')
    expect(await outcomeOf(tokens.verify(B.sign(AUD_B)))).toBe('ok')
  })

  ownAttack('a key of B that A publishes verifies tokens of A alone', async () => {
    const two = createForeign('https://b.example', { kid: 'same' })
    const issuers = [
      A.options({ keys: { keys: [{ ...two.jwk, kid: 'of-a' }] }, subjectPrefix: 'a:' }),
      two.options({ subjectPrefix: 'b:' }),
    ]
    const { tokens } = createReceiver(issuers)
    expect((await tokens.verify(two.sign())).sub).toBe('b:ada')
    // A may do so: anyone who has the key speaks for A then, and for nobody else.
    const asA = signedBy(two, A.claims(), { kid: 'of-a' })
    expect(await tokens.verify(asA)).toMatchObject({ iss: A.issuer, sub: 'a:ada' })
    await refuse(tokens, signedBy(two, A.claims()))
    await refuse(tokens, signedBy(two, two.claims(), { kid: 'of-a' }))
    await refuse(tokens, A.sign())
  })

  ownAttack('the algorithms of one issuer are not those of another', async () => {
    const rsa = createForeign('https://a.example', { algorithm: 'RS256' })
    const jwk = { ...rsa.jwk, alg: undefined } as never
    const keys = { keys: [A.jwk, { ...(jwk as object), kid: 'rsa' } as never] }
    expect(() => createReceiver([A.options({ keys, algorithms: ['ES256'] })])).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
    )
    const tokens = await openHonest()
    await refuse(tokens, signedBy(rsa, A.claims(), { alg: 'RS256', kid: 'same' }))
    const header = (alg: Algorithm | 'none') => ({ alg, typ: 'at+jwt', kid: 'same' })
    for (const alg of ['RS256', 'PS256', 'ES384', 'EdDSA', 'HS256', 'none'] as const) {
      await refuse(tokens, A.forge({ claims: A.claims(), header: header(alg) }), alg)
    }
    for (const alg of ['ES256', 'PS256', 'RS512', 'HS256', 'none'] as const) {
      await refuse(tokens, B.forge({ claims: B.claims(AUD_B), header: header(alg) }), alg)
    }
  })

  ownAttack('the public key of an issuer as HMAC secret, also where our own tokens are HMAC', async () => {
    const tokens = await openHonest()
    for (const foreign of [A, B]) {
      const publicKey = publicHalf(foreign.privateKey)
      const secrets = [
        publicKey.export({ format: 'pem', type: 'spki' }),
        publicKey.export({ format: 'der', type: 'spki' }),
        JSON.stringify(foreign.jwk),
        JSON.stringify({ keys: [foreign.jwk] }),
        JSON.stringify(publicKey.export({ format: 'jwk' })),
      ]
      for (const key of secrets) {
        for (const iss of [foreign.issuer, US, undefined]) {
          for (const kid of ['same', undefined, tokens.keys.current ?? '']) {
            const header = { alg: 'HS256', typ: 'JWT', kid }
            const claims = foreign.claims({ iss, type: 'access', aud: [AUDIENCE, AUD_B.aud] })
            await refuse(tokens, forge({ algorithm: 'HS256', key, header, claims }))
          }
        }
      }
    }
  })

  ownAttack('a token for another API, for the client, or for nobody', async () => {
    const tokens = await openHonest()
    for (const aud of [AUD_B.aud, 'app', '', [], [''], ['app', AUD_B.aud], undefined]) {
      await refuse(tokens, A.sign({ aud }), JSON.stringify(aud))
      // What names the client is no audience (OpenID Connect Core §2, RFC 9068 §2.2).
      await refuse(tokens, A.sign({ aud, azp: AUDIENCE, client_id: AUDIENCE, resource: AUDIENCE }))
    }
    for (const aud of [
      [AUDIENCE, 'app'],
      ['app', AUDIENCE],
    ]) {
      expect(await outcomeOf(tokens.verify(A.sign({ aud })))).toBe('ok')
    }
  })

  ownAttack('an iss that is no text, or there twice', async () => {
    const tokens = await openHonest()
    for (const iss of [[A.issuer], { 0: A.issuer }, 1, true, null, { toString: A.issuer }, [[A.issuer]]]) {
      await refuse(tokens, A.sign({ iss, type: 'access' }), JSON.stringify(iss))
    }
    const rest = JSON.stringify(
      A.claims({ iss: undefined, type: 'access', aud: [AUDIENCE, AUD_B.aud] }),
    ).slice(1)
    const twice = (first: string, last: string) => `{"iss":"${first}","iss":"${last}",${rest}`
    for (const iss of [B.issuer, US]) {
      await refuse(tokens, A.forge({ claims: twice(A.issuer, iss) }))
    }
    // Anyone who reads the last one and anyone who verifies agree: these are claims that A has signed.
    const { iss, sub } = await tokens.verify(A.forge({ claims: twice(B.issuer, A.issuer) }))
    expect([iss, sub]).toEqual([A.issuer, 'a:ada'])
  })

  ownAttack('an iss in another normalisation', async () => {
    const composed = createForeign('https://caf\u00E9.example')
    const decomposed = createForeign('https://cafe\u0301.example')
    const { tokens } = createReceiver([
      composed.options({ subjectPrefix: 'c:' }),
      decomposed.options({ subjectPrefix: 'd:' }),
    ])
    expect((await tokens.verify(composed.sign())).sub).toBe('c:ada')
    expect((await tokens.verify(decomposed.sign())).sub).toBe('d:ada')
    await refuse(tokens, composed.sign({ iss: decomposed.issuer }))
    await refuse(tokens, decomposed.sign({ iss: composed.issuer }))
    await refuse(tokens, composed.sign({ iss: 'https://xn--caf-dma.example' }))
    // The same text in the escapes of JSON is the same issuer.
    const escaped = JSON.stringify(composed.claims()).replace('\u00E9', '\\u00e9')
    expect((await tokens.verify(composed.forge({ claims: escaped }))).sub).toBe('c:ada')
  })

  ownAttack('a token without kid, where one key fits and where several do', async () => {
    const tokens = await openHonest()
    const { kid: _, ...header } = { alg: 'ES256', typ: 'at+jwt', kid: '' }
    expect(await outcomeOf(tokens.verify(A.forge({ claims: A.claims(), header })))).toBe('ok')
    await refuse(tokens, B.forge({ claims: A.claims(), header: { alg: 'RS256', typ: 'at+jwt' } }))
    const second = createForeign(A.issuer, { kid: 'second' })
    const { tokens: several } = createReceiver([A.options({ keys: { keys: [A.jwk, second.jwk] } })])
    expect(await outcomeOf(several.verify(second.sign()))).toBe('ok')
    await refuse(several, A.forge({ claims: A.claims(), header }))
  })

  ownAttack('a kid that is a path, a URL or a name of an object', async () => {
    const tokens = await openHonest()
    const kids = [
      '../../etc/passwd',
      '/dev/null',
      'https://b.example/keys#same',
      `${B.issuer}#same`,
      "same' or '1'='1",
      '__proto__',
      'constructor',
      'toString',
      '0',
      '',
      'same\0',
      ' same',
      'SAME',
    ]
    for (const kid of kids) await refuse(tokens, A.sign({}, { kid }), kid)
    for (const kid of [0, null, ['same'], { same: 1 }, true]) {
      await refuse(tokens, A.sign({}, { kid }), JSON.stringify(kid))
    }
  })

  ownAttack('a header that brings keys, or names those of another issuer', async () => {
    const tokens = await openHonest()
    const jku = `${A.issuer}/.well-known/jwks.json`
    for (const member of [
      { jku },
      { x5u: jku },
      { jwk: A.jwk },
      { jwk: B.jwk },
      { x5c: ['AAAA'] },
      { crit: ['b64'], b64: false },
      { zip: 'DEF' },
      { cty: 'JWT' },
    ]) {
      await refuse(tokens, B.sign(AUD_B, member), JSON.stringify(member))
      await refuse(tokens, signedBy(A, B.claims(AUD_B), member), JSON.stringify(member))
    }
  })

  ownAttack('another kind of token of the same issuer', async () => {
    const tokens = await openHonest()
    for (const [claims, header] of [
      [{ token_use: 'id' }, {}],
      [{ nonce: 'n' }, {}],
      [{ nonce: 'n', token_use: 'id' }, {}],
      [{ nonce: 'n', at_hash: 'h', token_use: 'access' }, {}],
      [{ typ: 'ID', type: 'access' }, {}],
      [{ events: {}, typ: 'Bearer' }, {}],
      [{}, { typ: 'logout+jwt' }],
      [{}, { typ: 'id_token+jwt' }],
      [{}, { typ: 'at+jwt; charset=utf-8' }],
      [{}, { typ: ['at+jwt'] }],
    ] as const) {
      await refuse(tokens, A.sign(claims, header), JSON.stringify([claims, header]))
    }
  })

  ownAttack('the unverified claims of a token are read within the limits of a token', async () => {
    const { tokens } = createReceiver(ISSUERS, { clock: createClock() })
    await tokens.ready()
    const deep = `{"iss":"${A.issuer}","x":${'['.repeat(3000)}${']'.repeat(3000)}}`
    const wide = `{"iss":"${A.issuer}","x":[${'0,'.repeat(2500)}0]}`
    const long = `{"iss":"${A.issuer}","x":"${'x'.repeat(5800)}"}`
    const header = encode({ alg: 'ES256', typ: 'at+jwt', kid: 'same' })
    for (const [claims, mostWork] of [
      [deep, 100_000],
      [wide, 100_000],
      [long, 150_000],
    ] as const) {
      const token = `${header}.${encode(claims)}.${'A'.repeat(86)}`
      expect(token.length).toBeLessThanOrEqual(8192)
      const { work, error } = await countWork(() => tokens.verify(token))
      expect(error).toMatchObject({
        code: expect.stringMatching(/^TOKEN_(?:SIGNATURE_)?INVALID$/) as string,
      })
      expect(work.total).toBeLessThan(mostWork)
      if (claims !== long) expect(work.by['JSON.parse'] ?? 0).toBeLessThan(1000)
    }
    const huge = `${header}.${'A'.repeat(2 ** 20)}.AAAA`
    const { work } = await countWork(() => outcomeOf(tokens.verify(huge)))
    expect(work.total).toBeLessThan(10_000)
  })
})
