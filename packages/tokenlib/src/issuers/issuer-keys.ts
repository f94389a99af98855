import type { TokenEmitter } from '../events.js'
import type { BoundKey } from '../tokens/algorithms.js'
import type { Algorithm, JwsHeader } from '../tokens/jose.js'

/** The public keys of one issuer, each bound to one algorithm. */
export interface IssuerKeys {
  /**
   * The keys that may have signed a JWT with this header: empty if the issuer has none. `null` when they have to be loaded
   * first. Starts a reload in the background when the keys are due for one.
   *
   * With `isFinal`, for a caller that has waited for `load`, a key that is missing is not looked for again: `null` only says
   * that no keys are there at all.
   */
  find(header: JwsHeader, isFinal?: boolean): readonly BoundKey[] | null
  /**
   * Loads what `find` lacks for a header, together with every other call that waits for the same. Then `find` answers.
   * Rejects with `KeysUnavailableError` when there is nothing to answer with.
   *
   * With `mustBeCertain`, a key that is missing is looked for now, from a budget that other requests cannot use up. Rejects
   * as well if it cannot be looked for. For callers that may not retry.
   */
  load(header: JwsHeader, mustBeCertain?: boolean): Promise<void>
  /** Whether a key that `find` returned earlier is still one of the issuer's. Starts a reload like `find`. */
  isTrusted(key: BoundKey): boolean
  /** Starts what `load` does, and waits for nothing; in Workers, where that would end with the request, does nothing. */
  prepare(header: JwsHeader): void
  /** The ids of every key that is known under a `kid` at this moment, those that are derived from the key included. */
  idsOf(kid: string): readonly string[]
  /** Resolves once the keys are there, and what `prepare` has started is done; rejects with `KeysUnavailableError`. */
  ready(): Promise<void>
}

/** What a key source knows of its issuer. */
export interface KeySourceContext {
  /** The exact text of `iss`. */
  readonly issuer: string
  /** The algorithms that are accepted; never HMAC. */
  readonly algorithms: readonly Algorithm[]
  readonly emit: TokenEmitter['emit']
}
