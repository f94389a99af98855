import type { TokenEmitter } from '../events.js'
import type { Algorithm, Jwk, JwsHeader, KeyMaterial } from '../jws/jose.js'
import type { IssuerKeys } from './issuer-keys.js'
export type KeyFunction = (header: JwsHeader, issuer: string) => unknown
export type KeySource =
  | { jwksUri: string }
  | { discovery: string }
  | { keys: readonly Jwk[] }
  | KeyFunction
  | KeyMaterial
export interface KeySourceContext {
  issuer: string
  algorithms: readonly Algorithm[]
  emit: TokenEmitter['emit']
}
export function createIssuerKeys(_source: KeySource | undefined, _context: KeySourceContext): IssuerKeys {
  throw new Error('not there')
}
