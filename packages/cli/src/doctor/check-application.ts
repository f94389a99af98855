import { type ManagerInspection, systemScheduler, withDeadline } from 'tokenlib/kit'
import { type Check, createFinding, type Finding, ok } from './findings.js'
import { toDurationText, toListText, toMessage } from '../words.js'

/** What `doctor` knows about a manager besides its configuration. */
export interface ApplicationFacts extends Pick<ManagerInspection, 'keys' | 'missingKey' | 'store'> {
  readonly issuers: readonly IssuerFacts[]
  readonly isProduction: boolean
}

/** What `doctor` knows about an issuer. */
export interface IssuerFacts {
  readonly issuer: string
  readonly audience: readonly string[]
  /** Why its keys could not be loaded, or `null`. */
  readonly keysError: string | null
}

/** Reads everything that the checks need: loads the keys of every issuer. */
export async function readApplication(
  { keys, missingKey, store, issuers }: ManagerInspection,
  isProduction: boolean,
  timeoutMs: number,
): Promise<ApplicationFacts> {
  const read = async ({ issuer, audience, loadKeys }: ManagerInspection['issuers'][number]) => {
    const late = (): Error => new Error(`no answer within ${timeoutMs} ms`)
    const keysError = await withDeadline(systemScheduler, loadKeys(), timeoutMs, late).then(
      () => null,
      toReason,
    )
    return { issuer, audience, keysError }
  }
  return { keys, missingKey, store, isProduction, issuers: await Promise.all(issuers.map(read)) }
}

function toReason(error: unknown): string {
  return toMessage(error instanceof Error && error.cause instanceof Error ? error.cause : error)
}

/** Checks that need the application itself. */
export function checkApplication(facts: ApplicationFacts): Finding[] {
  return [checkSigningKey, checkIssuerKeys, checkShared, checkBound]
    .map((check) => check(facts))
    .filter((finding) => finding !== null)
}

const checkSigningKey: Check<ApplicationFacts> = ({ keys, missingKey }) => {
  const signing = keys.find(({ signs }) => signs)
  if (missingKey === null) return ok('signing-key', `New tokens are signed by ${signing?.kid ?? 'a key'}.`)
  // A service that only verifies tokens has none.
  return createFinding('signing-key', 'note', {
    title: 'No key signs new tokens at this moment.',
    detail: `${missingKey}.`,
    fix: 'If this service logs users in, give it JWT_SECRET_KEY, JWT_PRIVATE_KEY or a key that signs.',
  })
}

const checkIssuerKeys: Check<ApplicationFacts> = ({ issuers }) => {
  if (issuers.length === 0) return null
  const names = issuers.map(({ issuer }) => issuer)
  const failed = issuers.filter(({ keysError }) => keysError !== null)
  if (failed.length === 0) return ok('issuer-keys', `The keys of ${toListText(names)} were loaded.`)
  const reasons = failed.map(({ issuer, keysError }) => `${issuer} (${keysError})`)
  return createFinding('issuer-keys', 'error', {
    title: `The keys of ${toListText(reasons)} could not be loaded.`,
    detail: 'Tokens of this issuer are refused with 503.',
    fix: 'Check the address of the keys, and that this machine can reach it.',
  })
}

const checkShared: Check<ApplicationFacts> = ({ store, isProduction }) => {
  if (store === null) return null
  if (store.system !== 'memory') return ok('store-shared', 'Every process of the application uses one store.')
  return createFinding('store-shared', isProduction ? 'error' : 'note', {
    title: 'Revocations and sessions are in the memory of one process.',
    detail: 'A restart forgets them, so that revoked tokens are valid again. Other processes never see them.',
    fix: 'Use createRedisStore(), createPostgresStore(), createMysqlStore() or createSqliteStore().',
  })
}

// Above it, users notice that a logout has not happened yet.
const MAX_BOUND_MS = 10_000

const checkBound: Check<ApplicationFacts> = ({ store }) => {
  const state = store?.replica?.readState()
  if (state === undefined) return null
  const text = toDurationText(state.boundMs / 1000)
  if (state.boundMs <= MAX_BOUND_MS) {
    return ok('replica-bound', `A revocation reaches every process within ${text}.`)
  }
  return createFinding('replica-bound', 'warning', {
    title: `A replica may be ${text} old: a revoked token is accepted for as long.`,
    fix: "Use replicate(store, { bound: '1s' }).",
  })
}
