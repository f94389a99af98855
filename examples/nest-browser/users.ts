import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
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

/** The claims of the user whom the credentials belong to, or `null`. */
export function checkPassword({ name, password }: Credentials): { uid: string; role: string } | null {
  if (typeof name !== 'string' || typeof password !== 'string') return null
  const user = users.get(name) ?? nobody
  const isCorrect = timingSafeEqual(scryptSync(password, user.salt, 32), user.hash)
  return isCorrect && user !== nobody ? { uid: name, role: user.role } : null
}

function createUser(password: string, role: string): User {
  const salt = randomBytes(16)
  return { role, salt, hash: scryptSync(password, salt, 32) }
}
