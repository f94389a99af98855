import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import type { User } from '../shared/users.js'

/** `JWT_SECRET_KEY` of the Flask application. */
export const SECRET = 'mX3vTq8wKz5rYn1bHs7cJd9gPf2eLa4u'

const MINUTES = 60
const DAYS = 86_400

/** A token with the claims that `create_access_token` and `create_refresh_token` of flask-jwt-extended 4 write. */
export function create(type: 'access' | 'refresh', user: User, claims: object = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const isAccess = type === 'access'
  return new SignJWT({
    ...(isAccess && { fresh: true }),
    iat: now,
    jti: randomUUID(),
    type,
    sub: String(user.id),
    nbf: now,
    csrf: randomUUID(),
    exp: now + (isAccess ? 15 * MINUTES : 30 * DAYS),
    roles: user.roles,
    ...claims,
  })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(SECRET))
}
