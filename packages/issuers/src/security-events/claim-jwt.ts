import { createHash } from 'node:crypto'
import { isJsonObject } from 'tokenlib/kit'
import type { IssuedJwt } from 'tokenlib'
import type { UsedJwt } from './revoke-subject.js'
import type { SubjectIdentifier } from './subject-identifiers.js'

/** What a JWT may do for a subject that it does not name itself. */
export interface Claim {
  /** `other`: the JWT was used for another subject. `done`: for this one, and everything was done. */
  readonly status: 'ours' | 'other' | 'done'
  /** Remembers that everything was done. */
  finish(): Promise<void>
}

/**
 * Binds a JWT to the one subject that it is used for, before anything is done for it: with another subject, the JWT is
 * refused from then on, in every process and also if the request fails. With the same subject it can be repeated until
 * everything was done.
 */
export async function claimJwt(
  { claimIds, isIdRevoked }: IssuedJwt,
  { jti, until }: UsedJwt,
  subject: SubjectIdentifier,
): Promise<Claim> {
  // Together with the `jti`, so that whoever finds that finds the subject too.
  const bound = `${jti} ${toDigest(subject)}`
  const done = `${bound} done`
  const finish = async (): Promise<void> => void (await claimIds([done], until))
  const { isFirst, position } = await claimIds([jti, bound], until)
  if (isFirst) return { status: 'ours', finish }
  if (!(await isIdRevoked(bound, { atLeast: position }))) return { status: 'other', finish }
  return { status: (await isIdRevoked(done, { atLeast: position })) ? 'done' : 'ours', finish }
}

function toDigest(subject: SubjectIdentifier): string {
  return createHash('sha256').update(toCanonicalJson(subject)).digest('base64url')
}

// Members in one order: a sender that repeats a request may write them in another one.
function toCanonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toCanonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const names = Object.keys(value).toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${toCanonicalJson(value[name])}`).join(',')}}`
}
