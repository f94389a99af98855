import { createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { type ConfiguredIssuer, trustIssuer } from '../../packages/issuers/src/index.js'
import { type Held, hold, PROVIDER, PROVIDER_PREFIX } from './held.js'
import type { Machine } from './machine.js'
import type { Random } from './random.js'

/** Whom a logout is about, as the provider names them; one of the two may be missing. */
export interface SignedOut {
  readonly sub?: string
  readonly sid?: string
}

/** An identity provider, whose access tokens the applications accept, and whose logouts they receive. */
export interface IdentityProvider {
  /** For the managers. */
  readonly trusted: ConfiguredIssuer
  issueAccessToken(sub: string, sid: string): Held
  issueLogoutToken(whom: SignedOut): string
}

/** What the provider calls this application. */
export const CLIENT_ID = 'simulated-app'

const KEY_ID = 'provider-1'
const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'
const LOGOUT_LIFETIME_SECONDS = 120
// RFC 8410 §7: a private key of Ed25519 is these bytes, and a seed. Its signatures need no random numbers.
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A provider with a key of its own. */
export function createIdentityProvider(
  machine: Machine,
  random: Random,
  lifetimeMs: number,
): IdentityProvider {
  const der = Buffer.concat([PKCS8, random.bytes(32)])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid: KEY_ID, alg: 'EdDSA' }
  let issued = 0

  const issue = (typ: string, lifetimeSeconds: number, claims: Record<string, unknown>): string => {
    const iat = Math.floor(machine.readWallClock() / 1000)
    const common = { iss: PROVIDER, jti: `provider-${issued++}`, iat, exp: iat + lifetimeSeconds }
    const input = [
      { alg: 'EdDSA', kid: KEY_ID, typ },
      { ...common, ...claims },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')
    return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
  }

  return {
    trusted: trustIssuer({
      issuer: PROVIDER,
      audience: 'https://app.example',
      keys: { keys: [jwk] },
      subjectPrefix: PROVIDER_PREFIX,
      maxTokenAge: `${lifetimeMs}ms`,
      sessionLifetime: `${lifetimeMs}ms`,
    }),
    issueAccessToken: (sub, sid) =>
      hold(issue('at+jwt', lifetimeMs / 1000, { aud: 'https://app.example', sub, sid })),
    issueLogoutToken: (whom) =>
      issue('logout+jwt', LOGOUT_LIFETIME_SECONDS, { aud: CLIENT_ID, ...whom, events: { [LOGOUT]: {} } }),
  }
}
