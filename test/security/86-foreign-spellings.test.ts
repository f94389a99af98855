import { expect } from 'vitest'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { createForeign, createReceiver, flipToken } from '../helpers/foreign.js'
import { withBearer } from '../helpers/manager.js'
import { createJsonRequest, createRequest } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { RSA_2050 } from '../helpers/rsa-2050.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { encode, forge } from './harness/forge.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const FOREIGN = (['ES256', 'ES384', 'ES512'] as const).map((algorithm) =>
  createForeign(`https://${algorithm.toLowerCase()}.example`, { algorithm }),
)
const ISSUERS = FOREIGN.map((foreign, at) => foreign.options({ subjectPrefix: `${at}:` }))
const ORDERS = {
  ES256: 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  ES384: 'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
  ES512:
    '01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
} as const

const open = () =>
  createReceiver(ISSUERS, {
    config: {
      JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'],
      JWT_COOKIE_CSRF_PROTECT: false,
    },
  }).tokens

/** Every place of a request that a token can be in. */
function requestsWith(tokens: TokenManager, token: string): readonly Request[] {
  const { JWT_ACCESS_COOKIE_NAME, JWT_JSON_KEY, JWT_QUERY_STRING_NAME } = tokens.config
  return [
    withBearer(token),
    createRequest({ cookies: { [JWT_ACCESS_COOKIE_NAME]: token } }),
    createJsonRequest({ [JWT_JSON_KEY]: token }),
    createRequest({ path: `/?${JWT_QUERY_STRING_NAME}=${token}` }),
  ]
}

/** The outcome at every entry point. */
async function outcomes(tokens: TokenManager, token: string): Promise<readonly string[]> {
  const origins = ['https://app.example']
  const upgrades = [
    withBearer(token),
    createRequest({ path: `/?${tokens.config.JWT_QUERY_STRING_NAME}=${token}` }),
    createRequest({ headers: { 'sec-websocket-protocol': `bearer, ${token}` } }),
    createRequest({
      headers: { origin: 'https://app.example' },
      cookies: { [tokens.config.JWT_ACCESS_COOKIE_NAME]: token },
    }),
  ]
  return Promise.all([
    outcomeOf(tokens.verify(token)),
    ...requestsWith(tokens, token).map((request) => outcomeOf(tokens.accessTokenRequired(request))),
    ...upgrades.map((request) => outcomeOf(tokens.sockets.authenticate(request, { origins }))),
  ])
}

/** A token whose signature begins with a zero byte, and the same token without that byte. */
function findLeadingZero(sign: (jti: string) => string): readonly [token: string, shorter: string] {
  for (let at = 0; ; at++) {
    const token = sign(`token-${at}`)
    const start = token.lastIndexOf('.') + 1
    const bytes = Buffer.from(token.slice(start), 'base64url')
    if (bytes[0] === 0) return [token, token.slice(0, start) + encode(bytes.subarray(1))]
  }
}

const only = (outcome: string) => Array.from({ length: 9 }, () => outcome)

describeAttacks('a revoked token of an issuer in its other spelling (SEC 1 §4.1, CVE-2026-102269)', () => {
  ownAttack('a list of whole tokens has both spellings, wherever they come', async () => {
    for (const foreign of FOREIGN) {
      for (const isHighRevoked of [true, false]) {
        const tokens = open()
        const low = foreign.sign({ jti: `token-${isHighRevoked}` })
        const high = flipToken(low, foreign.algorithm)
        expect(high).not.toBe(low)
        const revoked = new Set<string>()
        const seen = new Set<string>()
        tokens.setCallbackTokenBlocklist((token) => {
          seen.add(token)
          return revoked.has(token)
        })
        expect(await outcomes(tokens, low)).toEqual(only('ok'))
        expect(await outcomes(tokens, high)).toEqual(only('ok'))
        expect([...seen]).toEqual([low])
        // As an application finds it: in a request.
        const found = await tokens.getTokenFromRequest(withBearer(isHighRevoked ? high : low))
        revoked.add(found?.token ?? '')
        expect(await outcomes(tokens, low)).toEqual(only('TOKEN_REVOKED'))
        expect(await outcomes(tokens, high)).toEqual(only('TOKEN_REVOKED'))
      }
    }
  })

  ownAttack('a request gives one spelling, in every place', async () => {
    const tokens = open()
    for (const foreign of FOREIGN) {
      const low = foreign.sign()
      for (const spelling of [low, flipToken(low, foreign.algorithm)]) {
        const found = await Promise.all(
          requestsWith(tokens, spelling).map((request) => tokens.getTokenFromRequest(request)),
        )
        expect(found.map((one) => one?.token)).toEqual([low, low, low, low])
      }
    }
  })

  ownAttack('a token that was remembered in one spelling is no way around its revocation', async () => {
    const tokens = open()
    for (const foreign of FOREIGN) {
      const low = foreign.sign()
      const high = flipToken(low, foreign.algorithm)
      for (const token of [low, high, low, high]) await tokens.accessTokenRequired(withBearer(token))
      await tokens.revoke.token(await tokens.verify(high))
      expect(await outcomes(tokens, low)).toEqual(only('TOKEN_REVOKED'))
      expect(await outcomes(tokens, high)).toEqual(only('TOKEN_REVOKED'))
      expect(internalsOf(tokens).verifyWithoutRevocation(high)).toMatchObject({ iss: foreign.issuer })
    }
  })

  ownAttack('a logout with one spelling ends the other, also without ids', async () => {
    for (const foreign of FOREIGN) {
      const tokens = open()
      const low = foreign.sign({ jti: undefined })
      const high = flipToken(low, foreign.algorithm)
      expect(await tokens.logout(withBearer(high))).toMatchObject({ iss: foreign.issuer })
      expect(await outcomes(tokens, low)).toEqual(only('TOKEN_REVOKED'))
      expect(await outcomes(tokens, high)).toEqual(only('TOKEN_REVOKED'))
    }
  })

  ownAttack('our own tokens have one spelling, also next to those of issuers', async () => {
    for (const { algorithm, privateKey } of FOREIGN) {
      const { tokens } = createReceiver(ISSUERS, {
        config: { JWT_ALGORITHM: algorithm, JWT_SECRET_KEY: null, JWT_PRIVATE_KEY: privateKey },
      })
      const token = tokens.createAccessToken({ uid: 'ada' })
      expect(await outcomeOf(tokens.verify(token))).toBe('ok')
      const flipped = flipToken(token, algorithm)
      expect(await outcomeOf(tokens.verify(flipped))).toBe('TOKEN_SIGNATURE_INVALID')
      expect((await tokens.getTokenFromRequest(withBearer(flipped)))?.token).toBe(flipped)
    }
  })

  ownAttack('an s or r of zero, of the order, or above', async () => {
    const tokens = open()
    for (const foreign of FOREIGN) {
      const token = foreign.sign()
      const at = token.lastIndexOf('.') + 1
      const bytes = Buffer.from(token.slice(at), 'base64url')
      const half = bytes.length / 2
      const order = BigInt(`0x${ORDERS[foreign.algorithm as keyof typeof ORDERS]}`)
      const s = BigInt(`0x${bytes.toString('hex', half)}`)
      const limit = 1n << BigInt(8 * half)
      for (const value of [0n, 1n, order - 1n, order, order + 1n, order + s, limit - 1n]) {
        if (value >= limit) continue
        const number = Buffer.from(value.toString(16).padStart(2 * half, '0'), 'hex')
        for (const parts of [
          [bytes.subarray(0, half), number],
          [number, bytes.subarray(half)],
          [number, number],
        ]) {
          const forged = token.slice(0, at) + encode(Buffer.concat(parts))
          expect(await outcomeOf(tokens.verify(forged))).toBe('TOKEN_SIGNATURE_INVALID')
        }
      }
      for (const shorter of [bytes.subarray(1), bytes.subarray(0, -1), Buffer.concat([bytes, bytes])]) {
        const forged = token.slice(0, at) + encode(shorter)
        expect(await outcomeOf(tokens.verify(forged))).toBe('TOKEN_SIGNATURE_INVALID')
      }
    }
  })

  ownAttack('an RSA signature without its leading zeros, own or of an issuer (RFC 8017 §8.1.2)', async () => {
    const { privateKey, publicKey } = RSA_2050
    for (const algorithm of ['PS256', 'RS256'] as const) {
      const issuer = 'https://rsa.example'
      const jwk: Jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'rsa-1', alg: algorithm }
      const foreign = createForeign(issuer)
      const { tokens } = createReceiver([foreign.options({ keys: { keys: [jwk] }, subjectPrefix: 'rsa:' })], {
        config: { JWT_ALGORITHM: algorithm, JWT_SECRET_KEY: null, JWT_PRIVATE_KEY: privateKey },
      })
      const header = { alg: algorithm, typ: 'at+jwt', kid: 'rsa-1' }
      const signs = [
        (jti: string) => tokens.createAccessToken({ uid: 'ada', serial: jti }),
        (jti: string) => forge({ algorithm, key: privateKey, header, claims: foreign.claims({ jti }) }),
      ]
      for (const sign of signs) {
        const [token, shorter] = findLeadingZero(sign)
        expect(await outcomeOf(tokens.verify(token))).toBe('ok')
        expect(await outcomeOf(tokens.verify(shorter))).toBe('TOKEN_SIGNATURE_INVALID')
      }
    }
  })

  ownAttack('another spelling of base64url is another token, in either signature', async () => {
    const tokens = open()
    const [foreign] = FOREIGN
    const low = foreign?.sign() ?? ''
    for (const token of [low, flipToken(low, 'ES256')]) {
      const at = token.lastIndexOf('.') + 1
      const last = token.at(-1) ?? ''
      // The last character of 64 bytes has four bits that are always zero.
      const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const stray = token.slice(0, -1) + (ALPHABET[ALPHABET.indexOf(last) + 1] ?? '')
      for (const spelling of [
        stray,
        `${token}=`,
        `${token}==`,
        token.slice(0, at) + token.slice(at).replaceAll('_', '/'),
      ]) {
        if (spelling === token) continue
        expect(await outcomeOf(tokens.verify(spelling)), spelling).toBe('TOKEN_INVALID')
      }
    }
  })
})
