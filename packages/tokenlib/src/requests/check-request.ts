import type { TokenPayload, TokenType } from '../tokens/payload.js'
import { ConfigurationError, SubjectNotFoundError } from '../errors.js'
import { type OptionKinds, ownFlag, parseOptions } from '../options.js'
import { attach, readAttached, type RequestView } from '../http/view.js'
import { type Authenticator, authenticate, authenticateToken, nameScopes } from './authenticate.js'
import { createDependency, type TokenDependency } from './dependencies.js'
import { createFastLane, type FastLane, reportOnce } from './fast-lane.js'
import { observeCheck } from './observe-check.js'
import {
  assertType,
  type CompiledPolicy,
  compilePolicy,
  parsePolicy,
  TOKEN_POLICY_NAMES,
  toPolicyValue,
} from './policy.js'
import type { Proofs } from '../proofs/proofs.js'
import { parseIssuer } from '../tokens/token-sources.js'
import type { VerifiedToken } from './verified-tokens.js'

/** A policy, checked and compiled, or `TypeError`; for `owner` and `names` see `parsePolicy`. */
export function preparePolicy(
  { settings: { reading, sources }, proofs }: Authenticator,
  ...given: Parameters<typeof parsePolicy>
): CompiledPolicy {
  const parsed = parsePolicy(...given)
  // A policy for an unknown issuer would refuse every token.
  for (const name of parsed.issuer ?? []) parseIssuer(sources.issuers, name)
  assertProofKind(proofs, parsed)
  return compilePolicy(parsed, reading.locations)
}

/** Throws `TypeError` for a policy that requires a kind of proof that the manager does not check. */
export function assertProofKind(proofs: Proofs, { proof }: Pick<CompiledPolicy, 'proof'>): void {
  if (proof === undefined || proofs.accepts(proof)) return
  throw new TypeError(`proof: '${proof}' needs the option ${proof} of the TokenManager`)
}

/** A dependency for a policy. */
export function createTokenDependency<Value>(
  authenticator: Authenticator,
  policy: CompiledPolicy,
): TokenDependency<Value | null> {
  return createDependency({
    lane: createFastLane(authenticator, policy),
    type: policy.type ?? 'access',
    scopes: policy.routeScopes,
    run: (view, lane) => checkRequest<Value>(authenticator, policy, view, lane),
  })
}

// `lane` is `null` if it was tried already.
async function checkRequest<Value>(
  authenticator: Authenticator,
  policy: CompiledPolicy,
  view: RequestView,
  lane: FastLane | null,
): Promise<Value | null> {
  const { observers } = authenticator
  const message = readMessageCheck(authenticator, view)
  if (message === null && lane !== null) {
    const known = passView(lane, view)
    if (known !== null) {
      if (observers.current !== null) lane.report(view, known)
      return known as Value
    }
  }
  const verified = await observeCheck(observers, {
    kind: message === null ? 'request' : 'message',
    run: () =>
      nameScopes(policy.routeScopes, async () =>
        message === null ? authenticate(authenticator, view, policy) : message(policy),
      ),
    readSubject,
    report: (check) => reportOnce(observers, view, policy, check),
  })
  return verified && (toPolicyValue(verified, policy) as Value)
}

// If the header cannot be read, the authentication reports it.
function passView(lane: FastLane, view: RequestView): ReturnType<FastLane['pass']> {
  try {
    return lane.pass(view.header(lane.headerName))
  } catch {
    return null
  }
}

/** Checks a message of a socket, which uses the token of the handshake. */
type MessageCheck = (policy: CompiledPolicy) => VerifiedToken

/** Makes the dependencies of one manager check a view as a message of a socket. */
export function setMessageCheck(authenticator: Authenticator, view: RequestView, check: MessageCheck): void {
  attach(view, setMessageCheck, { authenticator, check })
}

function readMessageCheck(authenticator: Authenticator, view: RequestView): MessageCheck | null {
  const known = readAttached(view, setMessageCheck) as
    | { readonly authenticator: Authenticator; readonly check: MessageCheck }
    | undefined
  return known?.authenticator === authenticator ? known.check : null
}

/** How to treat a token that did not come in a request. */
export function checkToken(
  authenticator: Authenticator,
  policy: CompiledPolicy,
  token: string,
): Promise<VerifiedToken> {
  const { observers, settings } = authenticator
  return observeCheck(observers, {
    kind: policy.isInspection === true ? 'inspection' : 'token',
    run: () =>
      nameScopes(policy.routeScopes, async () =>
        authenticateToken(authenticator, settings.reading.toCanonical(token), policy, null),
      ),
    readSubject,
  })
}

/** What `verifyWithoutRevocation` asks of a token. */
export interface UnrevokedOptions {
  readonly type?: TokenType | 'any'
  readonly allowExpired?: boolean
}

/** The payload of a token that has passed only the standard checks. */
export function verifyWithoutRevocation(
  { verifier, now, settings, proofs }: Authenticator,
  token: string,
  options: UnrevokedOptions,
): TokenPayload {
  const { allowExpired, ...policy } = parseOptions('verifyWithoutRevocation()', options, UNREVOKED_OPTIONS)
  const { payload, claims } = verifier.verify(settings.reading.toCanonical(token), now(), allowExpired)
  proofs.assertCheckable(claims.cnf)
  assertType(payload, policy)
  return payload
}

const UNREVOKED_OPTIONS: OptionKinds<UnrevokedOptions> = {
  type: TOKEN_POLICY_NAMES.type,
  allowExpired: ownFlag,
}

function readSubject({ payload }: VerifiedToken): string {
  return payload.sub
}

/** Loads the subject of a token, such as a user record. Returns `null` or `undefined` if it does not exist. */
export type SubjectGetter<Subject, Payload = TokenPayload> = (
  uid: string,
  payload: Payload,
) => Subject | null | undefined | Promise<Subject | null | undefined>

/** Loads the subject of a payload. Throws `SubjectNotFoundError`, or `ConfigurationError` without a getter. */
export async function findSubject<Subject, Payload extends Pick<TokenPayload, 'sub'>>(
  getter: SubjectGetter<Subject, Payload> | null,
  payload: Payload,
): Promise<NonNullable<Subject>> {
  if (getter === null) {
    throw new ConfigurationError(
      'getCurrentSubject needs a subject getter: register one with setSubjectGetter()',
    )
  }
  const subject = await getter(payload.sub, payload)
  if (subject === null || subject === undefined) throw new SubjectNotFoundError()
  return subject
}
