import type { TokenPayload, TokenType } from '../tokens/payload.js'
import { assertOptions } from '../options.js'
import type { RequestView } from '../http/view.js'
import type { Position } from '../revocation/store.js'
import { type Authenticator, authenticate, authenticateToken } from './authenticate.js'
import { type FastLane, passView } from './fast-lane.js'
import { observeCheck, reportOnce } from './observe-check.js'
import { assertType, type CompiledPolicy, compilePolicy, parsePolicy, toPolicyValue } from './policy.js'
import { assertKnownIssuers } from './revoked-issuers.js'
import { nameScopes } from './route-scopes.js'
import type { Settings } from '../config/settings.js'
import { checkMessage, readUpgrade } from './sockets.js'
import type { VerifiedToken } from './verified-tokens.js'

/** A policy, checked and compiled, or `TypeError`; for `owner` and `names` see `parsePolicy`. */
export function preparePolicy(
  { reading, sources }: Settings,
  ...given: Parameters<typeof parsePolicy>
): CompiledPolicy {
  const parsed = parsePolicy(...given)
  assertKnownIssuers(sources.issuers, parsed)
  return compilePolicy(parsed, reading.locations)
}

/** What a dependency does for a request, or for a message of a socket; `lane` is `null` where it was tried already. */
export async function checkRequest<Value>(
  authenticator: Authenticator,
  policy: CompiledPolicy,
  view: RequestView,
  lane: FastLane | null,
): Promise<Value | null> {
  const { observers } = authenticator
  const upgrade = readUpgrade(authenticator, view)
  const known = upgrade === null && lane !== null ? passView(lane, view) : null
  if (known !== null) {
    if (observers.current !== null) lane?.report(view, known)
    return known as Value
  }
  const run = (): Promise<VerifiedToken | null> =>
    nameScopes(policy.routeScopes, async () =>
      upgrade === null
        ? authenticate(authenticator, view, policy)
        : checkMessage(authenticator, policy, upgrade),
    )
  const verified =
    observers.current === null
      ? await run()
      : await observeCheck(observers, {
          kind: upgrade === null ? 'request' : 'message',
          run,
          readSubject,
          report: (check) => reportOnce(observers, view, policy, check),
        })
  return verified && (toPolicyValue(verified, policy) as Value)
}

/** What is done about a token that did not come in a request. */
export function checkToken(
  authenticator: Authenticator,
  policy: CompiledPolicy,
  token: string,
  atLeast?: Position,
): Promise<VerifiedToken> {
  const { observers, settings } = authenticator
  return observeCheck(observers, {
    kind: policy.isInspection === true ? 'inspection' : 'token',
    run: () =>
      nameScopes(policy.routeScopes, async () =>
        authenticateToken(authenticator, settings.reading.toCanonical(token), policy, null, atLeast),
      ),
    readSubject,
  })
}

/** What `verifyTokenWithoutRevocation` asks of a token. */
export interface UnrevokedOptions {
  readonly type?: TokenType | 'any'
  readonly allowExpired?: boolean
}

/** The payload of a token that has passed the standard checks alone. */
export function verifyWithoutRevocation(
  { verifier, now, settings }: Authenticator,
  token: string,
  options: UnrevokedOptions,
): TokenPayload {
  assertOptions('verifyTokenWithoutRevocation()', options, { type: true, allowExpired: true })
  const { allowExpired = false, ...policy } = options
  if (typeof allowExpired !== 'boolean') throw new TypeError('allowExpired must be true or false')
  const checked = parsePolicy(policy)
  const { payload } = verifier.verify(settings.reading.toCanonical(token), now(), allowExpired)
  assertType(payload, checked)
  return payload
}

function readSubject({ payload }: VerifiedToken): string {
  return payload.sub
}
