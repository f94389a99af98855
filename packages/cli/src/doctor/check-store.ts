import { isConfigurationError } from 'tokenlib/errors'
import type { OpenedStore } from '../opened-store.js'
import { type Endpoint, toPlace } from './endpoint.js'
import { type Check, createFinding, notSeen, ok } from './findings.js'
import type { ClockDifference, Latency } from './measure.js'
import { toBytesText, toDurationText, toMessage, toMillisecondsText } from '../words.js'

/** What is known of every kind of store. */
export interface StoreFacts {
  readonly kind: OpenedStore['kind']
  readonly endpoint: Endpoint
  /** `null` if unknown. */
  readonly isTls: boolean | null
  /** `null` if the lookup could not run. */
  readonly latency: Latency | null
  /** `null` if the store has no clock of its own, or does not report it. */
  readonly clock: ClockDifference | null
  /** `JWT_REVOCATION_TIMEOUT`. */
  readonly revocationTimeoutMs: number
}

const checkLatency: Check<StoreFacts> = ({ latency, revocationTimeoutMs, kind }) => {
  if (latency === null) {
    // A file without tables, which has a finding of its own.
    if (kind === 'sqlite') return null
    return notSeen('store-latency', 'how long a check takes: it failed', 'Fix the errors of the store first.')
  }
  const { medianMs, worstMs, samples } = latency
  const measured = `${toMillisecondsText(medianMs)}, the slowest of ${samples} ${toMillisecondsText(worstMs)}`
  const limit = toMillisecondsText(revocationTimeoutMs)
  if (worstMs <= revocationTimeoutMs / 2 && medianMs <= revocationTimeoutMs / 10) {
    return ok('store-latency', `A check takes ${measured}; the limit is ${limit}.`)
  }
  const isOver = medianMs > revocationTimeoutMs
  return createFinding('store-latency', isOver ? 'error' : 'warning', {
    title: `A check takes ${measured}; requests are refused after ${limit}.`,
    detail: isOver
      ? 'Most requests are refused with 503.'
      : 'Under load, requests will be refused with 503. Every request waits for its check.',
    fix: 'Run the store near the application, answer checks from memory with replicate(), or raise JWT_REVOCATION_TIMEOUT.',
  })
}

// docs/production.md: within a second. A process may set a watermark at most one minute ahead of the store.
const [MAX_DIFFERENCE_MS, MAX_TOLERATED_MS] = [1000, 60_000]

const checkClock: Check<StoreFacts> = ({ clock, kind }) => {
  // A file uses the clock of this machine.
  if (kind === 'sqlite') return null
  if (clock === null) {
    return notSeen('store-clock', 'the clock of the store', 'Compare it by hand: date -u on both machines.')
  }
  const { differenceMs, uncertaintyMs } = clock
  const size = Math.abs(differenceMs)
  // A slow answer alone does not mean that the clocks differ.
  if (size - uncertaintyMs <= MAX_DIFFERENCE_MS) {
    return ok('store-clock', `The clocks differ by ${toMillisecondsText(size)}.`)
  }
  const [is, by] = [differenceMs > 0 ? 'ahead of' : 'behind', toDurationText(size / 1000)]
  return createFinding('store-clock', size > MAX_TOLERATED_MS ? 'error' : 'warning', {
    title: `The clock of the store is ${by} ${is} the clock of this machine.`,
    detail:
      'One second is expected. Up to a minute, revoke.user and revoke.all may miss, or refuse too long, tokens without a ' +
      'session; beyond it, entries may be deleted while their tokens are still valid.',
    fix: 'Synchronise both machines with NTP; compare them with: timedatectl',
  })
}

const checkTls: Check<StoreFacts> = ({ endpoint, isTls, kind }) => {
  if (kind === 'sqlite' || endpoint.host === undefined || isTls === null) return null
  if (isTls || isLocal(endpoint.host)) {
    return ok('store-tls', isTls ? 'The connection is encrypted.' : 'The store is on this machine.')
  }
  return createFinding('store-tls', 'warning', {
    title: `The connection to ${toPlace(endpoint)} is not encrypted.`,
    detail:
      'An eavesdropper sees the password and the ids of sessions, and an attacker in between can remove revocations.',
    fix: TLS_FIXES[kind],
  })
}

const TLS_FIXES = {
  redis: 'Use rediss:// in the address, and tls-port on the server.',
  postgres: 'Add ?sslmode=verify-full to the address, and set ssl = on on the server.',
  mysql:
    'Set ssl in the options of the pool (in an address: ?ssl={"rejectUnauthorized":true} with mysql2, ?ssl=true with ' +
    'mariadb), and require_secure_transport = ON on the server.',
} as const

/** Whether a host is this machine itself. */
export function isLocal(host: string | null): boolean {
  // One that begins with a slash is the folder of a socket.
  return host === null || /^(?:\/.*|localhost|127(?:\.\d+){3}|\[?::1\]?)$/i.test(host)
}

/** The checks of every store. */
export const STORE_CHECKS: readonly Check<StoreFacts>[] = [checkLatency, checkClock, checkTls]

/**
 * Whether `prepare` accepts the store. Reports `refusal`, the message of its error, unless another check has explained it.
 */
export function checkAccepted<Facts extends { readonly refusal: string | null }>(
  explaining: readonly Check<Facts>[],
): Check<Facts> {
  return (facts) => {
    if (facts.refusal === null) return ok('store-accepted', 'The store accepts the server.')
    if (explaining.some((check) => check(facts)?.level === 'error')) return null
    return createFinding('store-accepted', 'error', {
      title: `The store rejects the server: ${facts.refusal}.`,
      detail: 'tokens.ready() rejects, and guarded routes answer 503.',
      fix: 'Change what the message names.',
    })
  }
}

/** Why a store would not start, or `null`. The reason may be an error that the server returned. */
export async function readRefusal(
  assertUsable: () => Promise<unknown>,
  isAnswer: (error: unknown) => boolean,
): Promise<string | null> {
  try {
    await assertUsable()
    return null
  } catch (error) {
    if (isConfigurationError(error) || isAnswer(error)) return toMessage(error)
    throw error
  }
}

/** Facts about expired rows that are not deleted yet. */
export interface PruningFacts {
  readonly ended: number
  /** Of the oldest, in milliseconds. */
  readonly oldestMs: number
}

// Stores delete after writes, about once a minute and a minute late; a store without writes may wait for long.
const MAX_ENDED = 100_000

/** Checks how much waits to be deleted. */
export function checkPruning(
  { ended, oldestMs }: PruningFacts,
  place = 'the store',
): ReturnType<Check<PruningFacts>> {
  if (ended < MAX_ENDED)
    return ok('store-pruning', `${ended} expired row${ended === 1 ? ' waits' : 's wait'} to be deleted.`)
  return createFinding('store-pruning', 'warning', {
    title: `${ended} expired rows wait to be deleted, the oldest for ${toDurationText(oldestMs / 1000)}.`,
    detail: 'The store deletes after writes. So many are left if it is rarely written to, or may not delete.',
    fix: `Delete them from ${place} now: npx tokenlib prune`,
  })
}

/** Checks the space that is left where a store writes. */
export function checkSpace(freeBytes: number): ReturnType<Check<number>> {
  if (freeBytes >= 500_000_000) return ok('sqlite-space', `${toBytesText(freeBytes)} are free on the disk.`)
  return createFinding('sqlite-space', freeBytes < 50_000_000 ? 'error' : 'warning', {
    title: `Only ${toBytesText(freeBytes)} are free on the disk of the database.`,
    detail: 'On a full disk revoking, logging in and refreshing fail. Checks go on.',
    fix: 'Free space on the disk, or move the database while the application is stopped.',
  })
}
