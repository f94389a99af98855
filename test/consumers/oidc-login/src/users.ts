export interface User {
  readonly uid: string
  readonly isActive: boolean
}

/** By `iss` and `sub`. In production: a table with a unique index on both columns. */
const users = new Map<string, User>()

export const findUser = (account: string): User | undefined => users.get(account)

export const isActive = (uid: string): boolean =>
  [...users.values()].some((user) => user.uid === uid && user.isActive)

export function findOrCreate(account: string): User {
  const user = users.get(account) ?? { uid: `user-${users.size + 1}`, isActive: true }
  users.set(account, user)
  return user
}
