import { isTokenError } from '../errors.js'
import type { ReplicaState } from '../revocation/store.js'
import type { StoreConnection } from '../revocation/connect-store.js'
import type { TokenMaker } from './token-maker.js'

/** What a manager can do at this moment. */
export interface ManagerHealth {
  /** `up`: everything. `degraded`: it checks tokens, but nothing can be written. `down`: it cannot check tokens. */
  readonly status: 'up' | 'degraded' | 'down'
  /** Whether tokens can be checked: by the store, or from a fresh replica. */
  readonly canCheck: boolean
  /** Whether logins, refreshes, logouts and revocations work: the store takes writes, and the signer signs. */
  readonly canWrite: boolean
  /** How long the store took to answer or fail, in milliseconds; `null` for a manager without a store. */
  readonly responseTimeMs: number | null
  /** What is wrong; `null` when `status` is `up`. */
  readonly error: Error | null
  /** What the replica of this process knows; `null` where there is none. */
  readonly replica: ReplicaState | null
}

/** Asks the store, and a signer that failed the last time; never rejects. */
export async function readHealth(
  store: StoreConnection | null,
  maker: Pick<TokenMaker, 'assertSignerAvailable'>,
): Promise<ManagerHealth> {
  const [found, signerError] = await Promise.all([store?.health() ?? WITHOUT_STORE, findSignerFault(maker)])
  const { checkError, writeError, responseTimeMs, replica } = found
  const error = checkError ?? writeError ?? signerError
  const canCheck = checkError === null
  const canWrite = writeError === null && signerError === null
  const status = !canCheck ? 'down' : canWrite ? 'up' : 'degraded'
  return { status, canCheck, canWrite, responseTimeMs, error, replica }
}

const WITHOUT_STORE = { checkError: null, writeError: null, responseTimeMs: null, replica: null }

async function findSignerFault(maker: Pick<TokenMaker, 'assertSignerAvailable'>): Promise<Error | null> {
  try {
    await maker.assertSignerAvailable()
    return null
  } catch (error) {
    return isTokenError(error) && error.cause instanceof Error ? error.cause : (error as Error)
  }
}
