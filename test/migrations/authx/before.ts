import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import type { User } from '../shared/users.js'

/** `JWT_SECRET_KEY` of the FastAPI application. */
export const SECRET = 'gT6xRk1vWz8nYb3mQs9cHd5jPf7eLa2u'

const MINUTES = 60
const DAYS = 86_400

/** A token with the claims that `create_access_token` and `create_refresh_token` of AuthX write. Times have fractions. */
export function create(type: 'access' | 'refresh', user: User, claims: object = {}): Promise<string> {
  const now = Date.now() / 1000
  const isAccess = type === 'access'
  return new SignJWT({
    roles: user.roles,
    sub: String(user.id),
    jti: randomUUID(),
    type,
    ...(isAccess && { fresh: false }),
    // Without cookies among the locations.
    csrf: '',
    iat: now,
    exp: now + (isAccess ? 15 * MINUTES : 20 * DAYS),
    iss: 'https://api.example',
    nbf: now,
    ...claims,
  })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .sign(new TextEncoder().encode(SECRET))
}
