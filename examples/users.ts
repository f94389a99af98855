import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { DescribeUser } from 'tokenlib'
import type { Credentials } from 'tokenlib/session-routes'

/** What the tokens of a user of the page contain. */
export type UserClaims = {
  readonly uid: string
  readonly name: string
  readonly role: 'user' | 'operator'
}

/** The password of both users, which the page shows. */
export const DEMO_PASSWORD = 'correct horse'

const USERS: Readonly<Record<string, UserClaims>> = {
  ada: { uid: 'ada', name: 'Ada Lovelace', role: 'user' },
  grace: { uid: 'grace', name: 'Grace Hopper', role: 'operator' },
}

const MAX_NAME_LENGTH = 100

/** The check of an application's own: the claims of the user, or `null` for wrong credentials. */
export function createLogIn(): (credentials: Credentials) => Promise<UserClaims | null> {
  const salt = randomBytes(16)
  // An application reads the salt and the hash of each user from its database.
  const stored = hash(DEMO_PASSWORD, salt)
  return async ({ user, password, name }) => {
    // Hashed before the user is looked up: an unknown user must take as long as a known one.
    const given = await hash(typeof password === 'string' ? password : '', salt)
    const found = typeof user === 'string' && Object.hasOwn(USERS, user) ? USERS[user] : undefined
    if (!timingSafeEqual(given, await stored) || found === undefined) return null
    const ownName = typeof name === 'string' ? name.trim().slice(0, MAX_NAME_LENGTH) : ''
    return ownName === '' ? found : { ...found, name: ownName }
  }
}

/** What the tokens of a user say, at the login and at every refresh: a role that was taken away is gone with the next one. */
export const describeUser: DescribeUser = (uid, { claims }) => {
  const user = Object.hasOwn(USERS, uid) ? USERS[uid] : undefined
  if (user === undefined) return null
  const { role } = user
  // The name was chosen at the login, so it stays.
  return { claims: { ...claims, role }, scopes: role === 'operator' ? ['operator'] : [] }
}

const derive: (password: string, salt: Buffer, length: number) => Promise<Buffer> = promisify(scrypt)

function hash(password: string, salt: Buffer): Promise<Buffer> {
  return derive(password, salt, 32)
}
