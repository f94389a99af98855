/** A user of the applications that are migrated. */
export interface User {
  readonly id: number
  readonly name: string
  readonly roles: readonly string[]
}

const USERS: readonly User[] = [
  { id: 7, name: 'ada', roles: ['editor'] },
  { id: 8, name: 'grace', roles: ['reader'] },
]

/** The user with this name and password, or `null`. */
export function checkPassword(name: unknown, password: unknown): User | null {
  return password === 'correct horse' ? (USERS.find((user) => user.name === name) ?? null) : null
}

/** The user with an id, or `null`. */
export function findUser(id: string): User | null {
  return USERS.find((user) => String(user.id) === id) ?? null
}
