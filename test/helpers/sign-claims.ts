import { createHmac } from 'node:crypto'
import { SECRET } from './manager.js'

/** A token with any claims at all, signed by hand with the secret of the test managers. */
export function signClaims(claims: object, secret: string = SECRET): string {
  const input = [{ alg: 'HS256', typ: 'JWT' }, claims]
    .map((json) => Buffer.from(JSON.stringify(json)).toString('base64url'))
    .join('.')
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}
