import { isCurrent, type TokenPayload } from '../tokens/payload.js'
import { type Observers, reportCheck, type TokenCheck } from '../observer.js'
import { attach, readAttached, type RequestReader, type RequestView } from '../http/view.js'
import type { Authenticator } from './authenticate.js'
import { type CompiledPolicy, isFrom, satisfies, type TokenWithHeader, toPolicyValue } from './policy.js'

/** Accepts requests synchronously, if no check needs a promise. */
export interface FastLane {
  /** The name of the header, in lower case. */
  readonly headerName: string
  /**
   * What the policy gives for the access token in a header value that the request carries once, or `null`.
   *
   * `null` does not refuse the request: the recipe decides. Only the signature check may be remembered. Time, issuer,
   * audience, type, freshness, scopes and revocation are checked each time, by the functions that the recipe uses.
   */
  pass(header: string | null): TokenPayload | TokenWithHeader | null
  /** Receive a report once a request has passed every lane of its route. */
  readonly observers: Observers
  /** Reports that a request has passed with what `pass` returned. */
  report(view: RequestView, value: TokenPayload | TokenWithHeader): void
}

/** The fast lane of a policy, or `null` if the policy does not look for an access token in the header first. */
export function createFastLane(authenticator: Authenticator, policy: CompiledPolicy): FastLane | null {
  const { verifier, blocklist, store, settings, proofs, observers, now: clock } = authenticator
  const [first] = policy.places
  if (first?.type !== 'access' || first.location !== 'headers') return null
  // A proof is single-use, and recording that is asynchronous.
  if ((policy.proof ?? proofs.required) !== null) return null

  return {
    headerName: settings.reading.headerKey,
    pass(header) {
      // A callback runs once per request, which only the authentication can ensure.
      const checksRevocation = policy.skipRevocation !== true
      if (header === null || (checksRevocation && blocklist.callback !== null)) return null
      const now = clock()
      const token = verifier.verifyHeader(header, now)
      // A refresh token must be checked against its session.
      if (token === null || token.payload.type !== 'access') return null
      const { source, signer, claims } = token
      // The sender of a bound token must also prove that it has the key.
      if (claims.cnf !== undefined) return null
      if (
        signer === null ||
        !source.keys.isTrusted(signer, now) ||
        !isCurrent(claims, source.rules, now / 1000)
      )
        return null
      if (!isFrom(source.issuer, policy) || !satisfies(claims, policy, now)) return null
      const isUnrevoked = !checksRevocation || store === null || store.isUnrevokedNow(token)
      return isUnrevoked ? toPolicyValue(token, policy) : null
    },
    observers,
    report(view, value) {
      const { sub } = (policy.withHeader === true ? value['payload'] : value) as TokenPayload
      reportOnce(observers, view, policy, toCheck(sub))
    },
  }
}

// A literal, because V8 is slow at spreading a constant.
function toCheck(sub: string): TokenCheck {
  return { kind: 'request', lane: 'fast', outcome: 'accepted', code: null, durationMs: null, sub }
}

/** Whether a request passes every lane; adds their values to `found`. Never throws: the recipe creates the errors. */
export type PassLanes<Source> = (source: Source, found?: unknown[]) => boolean

/** Sends the requests of a route through its lanes. `lanes` is `null` if a dependency has no lane: no request passes. */
export function createPass<Source>(
  lanes: readonly FastLane[] | null,
  reader: RequestReader<Source>,
): PassLanes<Source> {
  if (lanes === null) return () => false
  return (source, found) => {
    try {
      let observed: { readonly lane: FastLane; readonly value: TokenPayload | TokenWithHeader }[] | null =
        null
      for (const lane of lanes) {
        const value = lane.pass(reader.readHeader(source, lane.headerName))
        if (value === null) return false
        found?.push(value)
        if (lane.observers.current !== null) (observed ??= []).push({ lane, value })
      }
      // Report only after the last has passed: otherwise the recipe checks, and reports, all of them.
      if (observed !== null) {
        for (const { lane, value } of observed) lane.report(reader.toView(source), value)
      }
      // A route that reads a token from the body itself finds the parsed body only on the adapter's view.
      if (reader.readMethod !== undefined) {
        const method = reader.readMethod(source)
        if (method !== 'GET' && method !== 'HEAD') reader.toView(source)
      }
      return true
    } catch {
      return false
    }
  }
}

/**
 * Reports the check of a dependency, once per request.
 *
 * The fast lane keeps nothing for a request, so two middlewares with one dependency may both check it.
 */
export function reportOnce(
  observers: Observers,
  view: RequestView,
  policy: CompiledPolicy,
  check: TokenCheck,
): void {
  const { current } = observers
  if (current === null || readAttached(view, policy) === REPORTED) return
  attach(view, policy, REPORTED)
  reportCheck(current, check)
}

const REPORTED = Symbol('reported')
