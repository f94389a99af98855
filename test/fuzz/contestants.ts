import { type CryptoKey, errors, importSPKI, jwtVerify, type JWTPayload } from 'jose'
import { webcrypto } from 'node:crypto'
import {
  isTokenError,
  TokenConfig,
  TokenManager,
  type TokenPayload,
} from '../../packages/tokenlib/src/index.js'
import type { Binding, Setup } from './setups.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

/** What a contestant says about a token. */
export type Verdict =
  | { readonly kind: 'accepted'; readonly claims: Readonly<Record<string, unknown>> }
  | { readonly kind: 'refused'; readonly code: string }
  /** Something else than an error of the library came out. */
  | { readonly kind: 'crashed'; readonly error: unknown }

/** The oracle also knows which of the keys made the signature. */
export type OracleVerdict = Exclude<Verdict, { kind: 'crashed' }> & { readonly binding: Binding | null }

/** Our verifier under a configuration. */
export interface Ours {
  /** Verifies from scratch. */
  readonly verify: (token: string, at: number) => Verdict
  /** Verifies by a manager that remembers what it has verified. */
  readonly verifyRemembering: (token: string, at: number) => Verdict
}

/** The oracle under the same configuration; `tolerance` in seconds is added to the leeway. */
export type Oracle = (token: string, at: number, tolerance?: number) => Promise<OracleVerdict>

/** Two managers that differ in their memory alone. */
export function createOurs(setup: Setup): Ours {
  let now = 0
  const create = (cacheSize: number): TokenManager =>
    new TokenManager({
      config: new TokenConfig({ ...setup.config, JWT_VERIFIED_CACHE_SIZE: cacheSize }),
      clock: () => now,
    })
  const judgeBy =
    (manager: TokenManager) =>
    (token: string, at: number): Verdict => {
      now = at
      try {
        return accept(internalsOf(manager).verifyWithoutRevocation(token, { type: 'any' }))
      } catch (error) {
        return isTokenError(error) ? { kind: 'refused', code: error.code } : { kind: 'crashed', error }
      }
    }
  // A small memory, so that tokens are forgotten too.
  return { verify: judgeBy(create(0)), verifyRemembering: judgeBy(create(200)) }
}

/** `jose`, asked once for each key and algorithm that the setup accepts. */
export async function createOracle(setup: Setup): Promise<Oracle> {
  const { audience, bindings, issuer, leeway } = setup
  const keys = await Promise.all(bindings.map(importKey))
  return async (token, at, tolerance = 0) => {
    const options = {
      currentDate: new Date(at),
      clockTolerance: leeway + tolerance,
      ...(issuer !== null && { issuer }),
      ...(audience.length > 0 && { audience: [...audience] }),
    }
    let code = ''
    for (const [index, binding] of bindings.entries()) {
      try {
        const algorithms = [binding.algorithm]
        const { payload } = await jwtVerify(token, keys[index] as CryptoKey, { ...options, algorithms })
        return { kind: 'accepted', claims: payload satisfies JWTPayload, binding }
      } catch (error) {
        code = error instanceof errors.JOSEError ? error.code : String(error)
      }
    }
    return { kind: 'refused', code, binding: null }
  }
}

function accept(payload: TokenPayload): Verdict {
  return { kind: 'accepted', claims: payload }
}

// Imported once: the oracle would import a secret again for every token.
function importKey({ algorithm, key }: Binding): Promise<CryptoKey> {
  if (key.kind !== 'secret') {
    return importSPKI(String(key.verifying.export({ format: 'pem', type: 'spki' })), algorithm)
  }
  const hmac = { name: 'HMAC', hash: `SHA-${algorithm.slice(2)}` }
  return webcrypto.subtle.importKey('raw', key.verifying.export(), hmac, false, ['verify'])
}
