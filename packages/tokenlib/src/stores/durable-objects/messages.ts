import { ConfigurationError } from '../../errors.js'
import type { SessionStore } from '../../revocation/session-store.js'
import type { FeedPage, Position, RevocationStore } from '../../revocation/store.js'
import type { Seen } from '../sqlite/history.js'

/** What a Worker can ask of the object that has its data; arguments and answers are JSON, `undefined` is `null`. */
export interface ObjectOperations
  extends Required<SessionStore>, Pick<RevocationStore, 'revoke' | 'claim' | 'lookup' | 'prune'> {
  prepare(): Promise<void>
  feed(after: Position | null): Promise<FeedPage>
}

/** One call of a Worker. */
export interface StoreCall {
  readonly protocol: typeof PROTOCOL
  readonly operation: keyof ObjectOperations
  readonly arguments: readonly unknown[]
  /** What this isolate of the Worker has seen: the object forgets, and its data may be put back to an earlier state. */
  readonly seen: Seen
}

/** The answer to a call. */
export interface StoreAnswer {
  readonly protocol: typeof PROTOCOL
  readonly value: unknown
  readonly seen: Seen
  /** Set if data that this isolate had seen was lost: everything from before this moment is revoked. */
  readonly revokedBefore: number | null
}

/** Why a call has no answer. */
export interface StoreFailure {
  readonly protocol: typeof PROTOCOL
  readonly failure: { readonly kind: 'configuration' | 'type' | 'other'; readonly message: string }
}

/** While a release is rolled out, a Worker and its object may run different versions of this file. */
export const PROTOCOL = 1

/** Where calls are sent. */
export const CALL_URL = 'https://tokenlib.invalid/store'

/**
 * What only a call has in `cf`.
 *
 * An application may pass requests on to the object. A client chooses the URL and the headers of such a request, and
 * another Worker chooses its `cf` as well. But only a Worker that has the namespace can know the id of an object in it.
 */
export interface CallMark {
  readonly tokenlib: 'call'
  /** The id of the object that is called. */
  readonly object: string
}

/** The mark of a call to an object. */
export function toCallMark(object: string): CallMark {
  return { tokenlib: 'call', object }
}

/** Whether a request is a call of the store to this object. */
export function isCall(request: Request, object: string): boolean {
  const { cf } = request as { readonly cf?: Partial<CallMark> | null }
  const isMarked = cf?.tokenlib === 'call' && cf.object === object
  return request.url === CALL_URL && request.method === 'POST' && isMarked
}

/** An error as a message. Of its properties, only what it is and what it says get to the Worker. */
export function toFailure(error: unknown): StoreFailure {
  const kind =
    error instanceof ConfigurationError ? 'configuration' : error instanceof TypeError ? 'type' : 'other'
  return {
    protocol: PROTOCOL,
    failure: { kind, message: error instanceof Error ? error.message : String(error) },
  }
}

/** The answer in a message of the object, or throws the error that is in it. */
export function parseAnswer(message: unknown): StoreAnswer {
  const given: Partial<StoreAnswer & StoreFailure> | null = typeof message === 'object' ? message : null
  if (given?.protocol === undefined) {
    throw new ConfigurationError(
      'The Durable Object namespace belongs to another class than TokenStoreObject: check "class_name" of the binding',
    )
  }
  if (given.protocol !== PROTOCOL) {
    throw new Error(
      'The Worker and its Durable Object run different releases of tokenlib; finish the deployment of one of them',
    )
  }
  if (given.failure === undefined) return given as StoreAnswer
  const { kind, message: text } = given.failure
  if (kind === 'configuration') throw new ConfigurationError(text)
  throw kind === 'type' ? new TypeError(text) : new Error(text)
}
