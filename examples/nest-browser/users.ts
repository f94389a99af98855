import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import type { UserDescription } from 'tokenlib'
import type { Credentials } from 'tokenlib/session-routes'

interface User {
  readonly role: string
  readonly salt: Buffer
  readonly hash: Buffer
}

const users = new Map([
  ['ada', createUser('correct horse', 'editor')],
  ['grace', createUser('battery staple', 'reader')],
])
// Verified in place of a user who does not exist, so that the time does not tell who does.
const nobody = createUser(randomBytes(16).toString('hex'), '')

/** The user whom the credentials belong to, or `null`. */
export function checkPassword({ name, password }: Credentials): { uid: string } | null {
  if (typeof name !== 'string' || typeof password !== 'string') return null
  const user = users.get(name) ?? nobody
  const isCorrect = timingSafeEqual(scryptSync(password, user.salt, 32), user.hash)
  return isCorrect && user !== nobody ? { uid: name } : null
}

/** What the tokens of a user say, at the login and at every refresh; `null` for a user who is gone. */
export function describeUser(uid: string): UserDescription | null {
  const user = users.get(uid)
  if (user === undefined) return null
  // A login alone is not fresh: what cannot be undone asks for the password again.
  return { claims: { role: user.role }, access: { fresh: false } }
}

function createUser(password: string, role: string): User {
  const salt = randomBytes(16)
  return { role, salt, hash: scryptSync(password, salt, 32) }
}
