import type { TokenPayload } from '../claims/payload.js'
import { MissingTokenError } from '../errors.js'
import { assertOptions, type OptionNames } from '../options.js'
import { readNote, writeNote } from '../request/notes.js'
import { isOrigin } from '../request/origin.js'
import type { RequestToken } from '../request/request-token.js'
import { readUpgradeToken } from '../request/upgrade.js'
import type { RequestView } from '../request/view.js'
import { assertNotRevoked } from '../revocation/check.js'
import { type Authenticator, authenticateToken } from './authenticate.js'
import {
  assertFresh,
  assertScopes,
  assertType,
  parsePolicy,
  TOKEN_POLICY_NAMES,
  type TokenPolicy,
} from './policy.js'
import { reportRejection } from './report-rejection.js'

/** What a WebSocket handshake must bring. */
export interface UpgradePolicy extends Pick<TokenPolicy, 'fresh' | 'scopes' | 'skipRevocation'> {
  /** Default `access`. */
  readonly type?: 'access' | 'refresh'
  /** The origins whose cookies are believed, as browsers write them: `https://app.example`. None by default. */
  readonly origins?: readonly string[]
}

/** A handshake that may become a socket. */
export interface AuthenticatedUpgrade<Payload = TokenPayload> {
  readonly payload: Payload
  readonly token: RequestToken
  /** The subprotocol the server must select in its answer, when the token came in one. */
  readonly protocol: string | null
}

/** A policy that was checked, with what was left out. */
export type ParsedUpgradePolicy = UpgradePolicy & Required<Pick<UpgradePolicy, 'type' | 'origins'>>

const UPGRADE_NAMES: OptionNames<UpgradePolicy> = { ...TOKEN_POLICY_NAMES, origins: true }

/** A checked copy of a policy, or `TypeError`: a misspelled demand must not open a socket. */
export function parseUpgradePolicy(given: UpgradePolicy): ParsedUpgradePolicy {
  assertOptions('authenticateUpgrade()', given, UPGRADE_NAMES)
  const { origins = [], ...policy } = given
  if (!Array.isArray(origins) || !origins.every(isOrigin)) {
    throw new TypeError('origins must be a list, each an origin like https://app.example')
  }
  const { type = 'access' } = policy
  if (type !== 'access' && type !== 'refresh') throw new TypeError('type must be access or refresh')
  return { ...parsePolicy(policy), type, origins: origins.slice() as string[] }
}

/** Checks the token of a WebSocket handshake like that of any request. */
export async function authenticateUpgrade(
  authenticator: Authenticator,
  view: RequestView,
  policy: ParsedUpgradePolicy,
): Promise<AuthenticatedUpgrade> {
  const { reading } = authenticator.settings
  const found = await readUpgradeToken(view, policy.type, policy.origins, reading)
  if (found === null) throw new MissingTokenError('No token found in the WebSocket handshake')
  const { token, protocol } = found
  // The origin has been checked in place of a CSRF value, which no browser could send here.
  const checks = { ...policy, csrf: false }
  // A view of its own: a connection outlives its handshake, and whoever asks again wants to know anew.
  const origin = { view: copyView(view), found: token }
  const { payload } = await authenticateToken(authenticator, token.token, checks, origin)
  const upgrade = { payload, token: Object.freeze(token), protocol }
  owners.set(upgrade, authenticator)
  return upgrade
}

// Another object with the same members: what is remembered for one is not found at the other.
function copyView(view: RequestView): RequestView {
  const { method, url, ip = null } = view
  return { method, url, ip, header: (name) => view.header(name), body: () => view.body() }
}

// Which manager has authenticated a handshake.
const owners = new WeakMap<AuthenticatedUpgrade, Authenticator>()

/** Checks again that the token of an open socket is neither expired nor revoked. */
export async function recheckUpgrade(upgrade: AuthenticatedUpgrade): Promise<void> {
  const authenticator = owners.get(upgrade)
  if (authenticator === undefined) throw new TypeError('Pass what authenticateUpgrade returned')
  await recheckToken(authenticator, upgrade)
}

/**
 * Checks time and revocation of a token that was accepted before, and nothing else.
 *
 * An open socket does not present its token anew: to a refresh token that its session has replaced in the meantime,
 * this is no reuse.
 */
export async function recheckToken(
  authenticator: Authenticator,
  { token: { token, location }, payload }: AuthenticatedUpgrade,
): Promise<void> {
  const { now, verifier, store, blocklist, settings } = authenticator
  const sources = { store, isRevoked: blocklist.callback, timeoutMs: settings.revocationTimeoutMs }
  try {
    await assertNotRevoked(token, verifier.verify(token, now()), location, sources)
  } catch (error) {
    reportRejection(authenticator, error, payload)
    throw error
  }
}

/** Makes a view that of a message: dependencies take the token of the handshake instead of looking for one. */
export function rememberUpgrade(view: RequestView, upgrade: AuthenticatedUpgrade): void {
  writeNote(view, rememberUpgrade, upgrade)
}

/**
 * A check that knows the messages of a socket.
 *
 * Whoever remembers the upgrade has rechecked it for this message, and its origin was checked in the handshake: what
 * remains is what the policy demands of the token itself.
 */
export function checkMessages(
  authenticator: Authenticator,
  policy: TokenPolicy,
  check: (view: RequestView) => TokenPayload | null | Promise<TokenPayload | null>,
): (view: RequestView) => TokenPayload | null | Promise<TokenPayload | null> {
  return (view) => {
    const upgrade = readNote(view, rememberUpgrade) as AuthenticatedUpgrade | undefined
    const isOwn = upgrade !== undefined && owners.get(upgrade) === authenticator
    return isOwn ? checkMessage(authenticator, policy, upgrade) : check(view)
  }
}

function checkMessage(
  authenticator: Authenticator,
  policy: TokenPolicy,
  { token: { token, location }, payload: known }: AuthenticatedUpgrade,
): TokenPayload {
  try {
    if (policy.locations !== undefined && !policy.locations.includes(location)) {
      throw new MissingTokenError(`The token of the WebSocket handshake was found in ${location}`)
    }
    const now = authenticator.now()
    const { payload } = authenticator.verifier.verify(token, now)
    assertType(payload, policy)
    assertFresh(payload, policy, now)
    assertScopes(payload, policy)
    return payload
  } catch (error) {
    reportRejection(authenticator, error, known)
    throw error
  }
}
