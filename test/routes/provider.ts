import { sign as signBytes } from 'node:crypto'
import type { Jwk } from '../../packages/tokenlib/src/kit.js'
import { createKeyPair, type KeyPair } from '../helpers/keys.js'
import { NOW } from '../helpers/manager.js'

/** The event of a logout token. */
export const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'

/** An identity provider with one key. */
export interface Provider {
  readonly issuer: string
  readonly pair: KeyPair
  readonly jwk: Jwk
  /** A JWT of this provider, issued now. */
  sign(claims: object, header?: object): string
  /** A JWT with this text as its claims. */
  signText(claims: string, header?: object): string
}

/** A provider with a new key. */
export function createProvider(issuer: string): Provider {
  const pair = createKeyPair('ES256')
  const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' }
  const signText: Provider['signText'] = (claims, header = {}) => {
    const payload = Buffer.from(claims).toString('base64url')
    const input = `${encode({ alg: 'ES256', kid: 'k1', ...header })}.${payload}`
    const key = { key: pair.privateKey, dsaEncoding: 'ieee-p1363' } as const
    return `${input}.${signBytes('sha256', Buffer.from(input), key).toString('base64url')}`
  }
  const sign: Provider['sign'] = (claims, header) =>
    signText(JSON.stringify({ iss: issuer, iat: NOW, ...claims }), header)
  return { issuer, pair, jwk, sign, signText }
}

/** A part of a JWT. */
export function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
