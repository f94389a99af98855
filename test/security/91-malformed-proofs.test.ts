import { expect } from 'vitest'
import { receive, toHttpText } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { encode, NOW } from './harness/forge.js'
import { createProver, createView, openBound, PUBLIC_URL } from './harness/prover.js'

const OUTSIDE_ASCII = ['\u00e9', '\u0131', '\u{1F511}', '\uD800', '\u200B', '\uFEFF']

describeAttacks('a proof that is not one JWT of its own kind (RFC 9449 §4.2 and §4.3 steps 1 to 4)', () => {
  ownAttack('no type, or that of another JWT', async () => {
    const { prove, call, accessToken, refreshToken } = await openBound()
    // RFC 7515 §4.1.9: a media type is not case-sensitive, and its prefix may be left out.
    for (const typ of ['dpop+jwt', 'DPoP+JWT', 'application/dpop+jwt']) {
      expect(await call(prove({ header: { typ } })), typ).toBe('ok')
    }
    for (const typ of [
      undefined,
      null,
      '',
      7,
      ['dpop+jwt'],
      { typ: 'dpop+jwt' },
      'JWT',
      'jwt',
      'at+jwt',
      'dpop',
      'dpop+jwt ',
      ' dpop+jwt',
      'dpop+jwt\0',
      'dpop jwt',
      'xdpop+jwt',
      'dpop+jwtx',
      'application/application/dpop+jwt',
      'text/dpop+jwt',
      'dpop+jwt;charset=utf-8',
      'ｄpop+jwt',
      '__proto__',
    ]) {
      expect(await call(prove({ header: { typ } })), JSON.stringify(typ)).toBe('PROOF_INVALID')
    }
    // Tokens of ours are signed too, but are no proofs; and a proof is no token.
    for (const token of [accessToken, refreshToken]) expect(await call(token)).toBe('PROOF_INVALID')
    expect(await call(prove(), { token: prove() })).toBe('TOKEN_INVALID')
  })

  ownAttack('header members that change how a JWT is read, or bring other keys', async () => {
    const { prove, call, client } = await openBound()
    for (const [name, ...values] of [
      ['crit', ['exp'], ['jwk'], [], 'jwk', null, ['b64']],
      ['b64', false, true, null],
      ['zip', 'DEF', '', null],
      ['enc', 'A256GCM', null],
      ['cty', 'JWT', null],
      ['jku', 'https://evil.example/keys', '', null],
      ['x5u', 'https://evil.example/chain', null],
      ['x5c', ['MIIB'], [], null],
    ] as const) {
      for (const value of values) {
        expect(await call(prove({ header: { [name]: value } })), name).toBe('PROOF_INVALID')
      }
    }
    for (const kid of [7, null, ['a'], {}, 'k'.repeat(129)]) {
      expect(await call(prove({ header: { kid } })), JSON.stringify(kid)).toBe('PROOF_INVALID')
    }
    // A name chooses nothing: the key in the header is the key.
    for (const kid of ['', client.jkt, '../../etc/passwd', "' OR 1=1 --", '__proto__']) {
      expect(await call(prove({ header: { kid } })), kid).toBe('ok')
    }
  })

  ownAttack('a member twice, in the header, in its key and in the claims', async () => {
    const { prove, call, client } = await openBound()
    const thief = createProver()
    const header = JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', jwk: client.jwk })
    const claims = Buffer.from(prove().split('.')[1] ?? '', 'base64url').toString()
    expect(await call(prove({ header, claims }))).toBe('ok')
    const twice = (text: string, name: string, value: unknown): readonly string[] => {
      const escaped = `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`
      const member = (key: string) => `"${key}":${JSON.stringify(value)}`
      return [
        text.replace('{', `{${member(name)},`),
        text.replace(/\}$/, `,${member(name)}}`),
        text.replace('{', `{${member(escaped)},`),
        text.replace(/\}$/, `,${member(escaped)}}`),
      ]
    }
    for (const [name, value] of [
      ['typ', 'dpop+jwt'],
      ['typ', 'JWT'],
      ['alg', 'ES256'],
      ['alg', 'none'],
      ['jwk', client.jwk],
      ['jwk', thief.jwk],
    ] as const) {
      for (const text of twice(header, name, value))
        expect(await call(prove({ header: text })), text).toBe('PROOF_INVALID')
    }
    const key = JSON.stringify(client.jwk)
    for (const name of ['kty', 'crv', 'x', 'y'] as const) {
      for (const value of [client.jwk[name], thief.jwk[name]]) {
        for (const text of twice(key, name, value)) {
          expect(await call(prove({ header: header.replace(key, () => text) })), text).toBe('PROOF_INVALID')
        }
      }
    }
    for (const [name, value] of [
      ['jti', 'other'],
      ['htm', 'GET'],
      ['htm', 'DELETE'],
      ['htu', `${PUBLIC_URL}/`],
      ['htu', 'https://evil.example/'],
      ['iat', NOW],
      ['ath', 'A'.repeat(43)],
    ] as const) {
      for (const text of twice(claims, name, value)) {
        expect(await call(prove({ claims: text })), text).toBe('PROOF_INVALID')
      }
    }
    const inside = claims.replace(/\}$/, ',"act":{"a":{"b":1,"b":2}}}')
    expect(await call(prove({ claims: inside }))).toBe('PROOF_INVALID')
  })

  ownAttack('two proofs, in two headers or in one', async () => {
    const { prove, call, tokens, accessToken } = await openBound()
    for (const joined of [
      (proof: string, other: string) => `${proof}, ${other}`,
      (proof: string, other: string) => `${proof},${other}`,
      (proof: string) => `${proof}, ${proof}`,
      (proof: string) => `${proof},`,
      (proof: string) => `,${proof}`,
      (proof: string, other: string) => `${proof} ${other}`,
      (proof: string, other: string) => `${proof};${other}`,
      (proof: string) => `DPoP ${proof}`,
      (proof: string) => `"${proof}"`,
    ]) {
      expect(await call(joined(prove(), prove()))).toBe('PROOF_INVALID')
    }
    const send = (names: readonly string[]) => {
      const headers = names.map((name) => [name, prove()] as const)
      const text = toHttpText('GET /', [['Authorization', `DPoP ${accessToken}`], ...headers])
      return receive(text, (request) => outcomeOf(tokens.accessTokenRequired(request)))
    }
    expect(await send(['DPoP'])).toBe('ok')
    for (const names of [
      ['DPoP', 'DPoP'],
      ['DPoP', 'dpop'],
      ['dpop', 'DPOP', 'DPoP'],
    ]) {
      expect(await send(names), names.join()).toBe('PROOF_INVALID')
    }
    // As objects have them which stand for requests.
    for (const headers of [{ dpop: [prove(), prove()] }, { dpop: prove(), DPoP: prove() }]) {
      const request = {
        method: 'GET',
        url: '/',
        headers: { authorization: `DPoP ${accessToken}`, ...headers },
      }
      expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('PROOF_INVALID')
    }
  })

  ownAttack('an empty header, spaces, padding, and what is not ASCII', async () => {
    const { prove, accessToken, tokens } = await openBound()
    const send = (dpop: string) =>
      outcomeOf(tokens.accessTokenRequired(createView({ authorization: `DPoP ${accessToken}`, dpop })))
    expect(await send(prove())).toBe('ok')
    for (const text of [
      '',
      ' ',
      '.',
      '..',
      '...',
      'a.b',
      'a.b.c',
      'null',
      'undefined',
      '{}',
      '[object Object]',
    ]) {
      expect(await send(text), text).toBe('PROOF_INVALID')
    }
    const ends = [' ', '\t', '\n', '\r\n', '\0', '=', '==', '.', '..', '%', ...OUTSIDE_ASCII]
    for (const end of ends) {
      const [header = '', claims = '', signature = ''] = prove().split('.')
      for (const text of [
        `${header}.${claims}.${signature}${end}`,
        `${end}${header}.${claims}.${signature}`,
        `${header}${end}.${claims}.${signature}`,
        `${header}.${end}${claims}.${signature}`,
        `${header}.${claims}.${end}${signature}`,
      ]) {
        expect(await send(text), JSON.stringify(end)).toBe('PROOF_INVALID')
      }
    }
    // Other spellings of the bits of the signature.
    const proof = prove()
    const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const stray = proof.slice(0, -1) + (ALPHABET[ALPHABET.indexOf(proof.at(-1) ?? '') + 1] ?? '')
    expect(await send(stray)).toBe('PROOF_INVALID')
    expect(await send(proof)).toBe('ok')
  })

  ownAttack('a header or claims that are no JSON objects, or no UTF-8', async () => {
    const { prove, call } = await openBound()
    const texts = [
      '',
      ' ',
      'null',
      '1',
      '"a"',
      '[]',
      '[{}]',
      '{',
      '{}}',
      "{'a':1}",
      '{"a":1,}',
      'NaN',
      '\uFEFF{}',
    ]
    for (const text of texts) {
      expect(await call(prove({ header: text })), text).toBe('PROOF_INVALID')
      expect(await call(prove({ claims: text })), text).toBe('PROOF_INVALID')
    }
    const [header = '', claims = '', signature = ''] = prove().split('.')
    const broken = encode(
      Buffer.concat([Buffer.from('{"jti":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')]),
    )
    expect(await call(`${header}.${broken}.${signature}`)).toBe('PROOF_INVALID')
    expect(await call(`${broken}.${claims}.${signature}`)).toBe('PROOF_INVALID')
  })

  ownAttack('claims with names of JavaScript in place of those that a proof needs', async () => {
    const { prove, call } = await openBound()
    const honest = Buffer.from(prove().split('.')[1] ?? '', 'base64url').toString()
    for (const claims of [
      `{"__proto__":${honest}}`,
      `{"constructor":{"prototype":${honest}}}`,
      `{"claims":${honest}}`,
      `[${honest}]`,
      honest.replace('"htm"', '"HTM"'),
      honest.replace('"htm"', '"htm\\u0000"'),
      honest.replace('"htm"', '"__proto__":{"htm":"GET"},"h"'),
    ]) {
      expect(await call(prove({ claims })), claims).toBe('PROOF_INVALID')
    }
    expect(
      await call(prove({ claims: honest.replace('{', '{"__proto__":{"htm":"POST"},"toString":1,') })),
    ).toBe('ok')
    expect(({} as { htm?: string }).htm).toBeUndefined()
  })

  ownAttack('a proof that is too long, too deep or has too many members', async () => {
    const { prove, call, callNode } = await openBound()
    const deep = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown
    expect(await call(prove({ claims: { more: deep(16) } }))).toBe('ok')
    for (const depth of [32, 100, 600]) {
      expect(await call(prove({ claims: { more: deep(depth) } })), String(depth)).toBe('PROOF_INVALID')
      expect(await call(prove({ header: { more: deep(depth) } })), String(depth)).toBe('PROOF_INVALID')
    }
    expect(await call(prove({ claims: { more: Array.from({ length: 1200 }, () => 0) } }))).toBe(
      'PROOF_INVALID',
    )
    expect(await call(prove({ header: { more: 'm'.repeat(1600) } }))).toBe('PROOF_INVALID')
    for (const length of [4096, 100_000, 500_000]) {
      expect(await callNode(prove({ claims: { more: 'm'.repeat(length) } })), String(length)).toBe(
        'PROOF_INVALID',
      )
      expect(await callNode('.'.repeat(length)), String(length)).toBe('PROOF_INVALID')
      expect(await callNode(`${encode('{"typ":"dpop+jwt"}')}.${'['.repeat(length)}.A`), String(length)).toBe(
        'PROOF_INVALID',
      )
    }
    // Two headers of half a megabyte each, as a plain object may have them, are not even joined.
    const [dpop, rejected] = [['a'.repeat(600_000), 'b'.repeat(600_000)], [] as unknown[]]
    const { tokens, accessToken } = await openBound()
    tokens.on('rejected', ({ code }) => rejected.push(code))
    const request = { method: 'GET', url: '/', headers: { authorization: `DPoP ${accessToken}`, dpop } }
    expect(await outcomeOf(tokens.accessTokenRequired(request))).toBe('TOKEN_INVALID')
    expect(rejected).toEqual(['TOKEN_INVALID'])
  })
})
