import { createHash } from 'node:crypto'
import { isJsonObject } from '../../json.js'
import type { IssuedJwt } from '../../manager/issued-jwt.js'
import type { Acknowledgement } from '../../revocation/revoker.js'
import type { ReceiverTokens } from './receiver.js'
import type { UsedJwt } from './revoke-subject.js'
import type { SubjectIdentifier } from './subject-identifiers.js'

/** What a JWT may do for a subject that it does not name itself. */
export interface Claim {
  /** `other`: the JWT was used for another subject. `done`: for this one, and everything was done. */
  readonly status: 'ours' | 'other' | 'done'
  /** Remembers that everything was done. */
  finish(): Promise<void>
}

// The claims that are being made in this process, by issuer and `jti`. As many as there are requests at this moment.
const pending = new Map<string, Promise<Claim>>()

/**
 * Binds a JWT to the one subject that it is used for, before anything is done for it: with another subject, the JWT is
 * refused from then on, also if the request fails. With the same subject it can be repeated until everything was done.
 */
export async function claimJwt(
  tokens: ReceiverTokens,
  verified: IssuedJwt,
  used: UsedJwt,
  subject: SubjectIdentifier,
): Promise<Claim> {
  const name = JSON.stringify([used.issuer, used.jti])
  // One after the other: stores have no operation that tests and sets.
  const before = pending.get(name)
  const claim = (async () => {
    await before?.catch(() => undefined)
    return claimNow(tokens, verified, used, subject)
  })()
  pending.set(name, claim)
  try {
    return await claim
  } finally {
    if (pending.get(name) === claim) pending.delete(name)
  }
}

async function claimNow(
  tokens: ReceiverTokens,
  { isIdRevoked }: IssuedJwt,
  { issuer, jti, until }: UsedJwt,
  subject: SubjectIdentifier,
): Promise<Claim> {
  const remember = (id: string): Promise<Acknowledgement> =>
    tokens.revokeToken({ jti: id, exp: until, iss: issuer }, { actor: issuer, note: 'Received, used once' })
  const bound = `${jti} ${toDigest(subject)}`
  const done = `${bound} done`
  const finish = async (): Promise<void> => void (await remember(done))
  let received: Promise<Acknowledgement> | null = null
  // A replica is behind its store. Its answer includes all that the store has if it includes a revocation made just now.
  const isListed = async (id: string): Promise<boolean> => {
    if (await isIdRevoked(id)) return true
    if (!tokens.hasReplica) return false
    const { position } = await (received ??= remember(`${jti} received`))
    return isIdRevoked(id, { atLeast: position })
  }
  if (await isListed(jti)) {
    if (!(await isListed(bound))) return { status: 'other', finish }
    return { status: (await isListed(done)) ? 'done' : 'ours', finish }
  }
  // In this order: who finds the `jti` finds the subject too, and if the second one fails, the sender can repeat it.
  await remember(bound)
  await remember(jti)
  return { status: 'ours', finish }
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
