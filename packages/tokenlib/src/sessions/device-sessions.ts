import type { RequestSource } from '../http/request-source.js'
import { InvalidProofError, ProofRequiredError } from '../errors.js'
import { createDeviceProofs } from '../proofs/device-proofs.js'
import { verifyWithKeys } from '../requests/authenticate.js'
import { ROOT } from '../revocation/rotation.js'
import type { RandomBytes } from '../tokens/ids.js'
import { type RefreshOptions, refreshPair, type SessionParts } from './refresh.js'
import type { RefreshedTokens } from './token-maker.js'

/** Sessions whose refresh tokens are bound to a key of the browser. */
export interface DeviceSessions {
  /** A challenge for the device of a session. Rejects with `KeysUnavailableError` if the signer fails. */
  createChallenge(sid: string): Promise<string>
  /** The id of the session of a bound refresh token. Not checked: its proof and revocations. */
  parseSession(refreshToken: string): Promise<string>
  /** Exchanges the first refresh token of a session, in the cookie of a request, for one that is bound to the key of a proof. */
  bind(request: RequestSource, proof: string, options: RefreshOptions): Promise<RefreshedTokens>
  /** Refreshes with a bound refresh token in the cookie of a request, and a proof of its key. */
  refresh(request: RequestSource, proof: string): Promise<RefreshedTokens>
}

/** The device sessions of one manager. */
export function createDeviceSessions(parts: SessionParts & { readonly random: RandomBytes }): DeviceSessions {
  const { settings, store, now } = parts.authenticator
  const { keys, sources } = settings
  const proofs = createDeviceProofs({ keys, source: sources.own, store, now, random: parts.random })

  return {
    createChallenge: (sid) => proofs.createChallenge(sid),
    async parseSession(refreshToken) {
      // Not sent to another issuer.
      if (parts.authenticator.verifier.findOpaque(refreshToken) !== null) throw notBound()
      const { claims, source } = await verifyWithKeys(parts.authenticator, refreshToken, {})
      const { type, sid, cnf } = claims
      const isBound = source.issuer === null && type === 'refresh' && cnf?.jwk !== undefined
      if (!isBound || sid === undefined) throw notBound()
      return sid
    },
    bind: (request, proof, options) =>
      refreshPair(parts, request, options, ({ sid = '', cnf, par }) => {
        if (cnf !== undefined) throw new ProofRequiredError()
        // Only right after the login: a thief must not be able to bind a stolen token to another key.
        if (par !== ROOT) throw new InvalidProofError('Device proof came after a refresh')
        return proofs.checkNew(proof, sid)
      }),
    refresh: (request, proof) =>
      refreshPair(parts, request, {}, ({ sid = '', cnf }) => proofs.check(proof, sid, cnf)),
  }
}

function notBound(): InvalidProofError {
  return new InvalidProofError('Token is not bound to a device')
}
