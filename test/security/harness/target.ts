import type { KeyObject } from 'node:crypto'
import type { Algorithm, Jwk } from '../../../packages/tokenlib/src/kit.js'

/** A library that the attacks are tried on. */
export interface Target {
  readonly name: TargetName
  /** A verifier as the library's own guide sets one up, or `null` where it has no such thing. */
  open(options: VerifierOptions): Verify | null | Promise<Verify | null>
  /** A guard of whole requests, for libraries that read tokens from requests themselves. */
  guard?(options: GuardOptions): Guard | null
  /** Whether an error is the library's way to refuse; whatever else it throws is a crash. */
  isRefusal(error: unknown): boolean
}

/** The libraries by their names in the table. */
export type TargetName = 'tokenlib' | 'jose' | 'fast-jwt' | 'jsonwebtoken' | 'hono/jwt'

/** What a verifier is built from; whatever a library cannot be told, it is not told. */
export interface VerifierOptions {
  /** What the attacker is up against. Left out only where leaving it out is the attack. */
  readonly algorithm?: Algorithm | undefined
  readonly key: VerifyKey
  readonly issuer?: string | undefined
  readonly audience?: string | undefined
  /** Seconds of clock difference that are forgiven. */
  readonly leeway?: number | undefined
  /** Remembers verified tokens; a library without such a cache has no verifier for this. */
  readonly cache?: boolean | undefined
}

/** What a guard is built from. */
export interface GuardOptions extends VerifierOptions {
  readonly cookie?: string | undefined
}

/** A secret or a public key, in whatever form an application may have it. */
export type VerifyKey = string | Uint8Array | KeyObject | Jwk | null | undefined

/** Returns the claims of a good token and throws for a bad one. */
export type Verify = (token: string) => unknown

/** Returns the claims of the token in a request and throws for a bad one. */
export type Guard = (request: Request) => Promise<unknown>
