import {
  type AnyClaims,
  type JsonClaims,
  type RevocationStore,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type TokenManagerOptions,
} from '../../src/index.js'
import { createMemoryStore } from '../../src/stores/memory.js'
import { createClock, PATIENT, SECRET } from './manager.js'

interface Given extends Pick<
  TokenManagerOptions<JsonClaims, AnyClaims, unknown>,
  'describeUser' | 'clientIp'
> {
  readonly clock?: ReturnType<typeof createClock>
  readonly store?: RevocationStore
}

/** A manager with a memory store on one clock; `options` are configuration fields. */
export function createRevocable(options: TokenConfigOptions = {}, given: Given = {}) {
  const { clock = createClock(), store = createMemoryStore({ clock }), ...manager } = given
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...options })
  return { tokens: new TokenManager({ config, clock, revocation: store, ...manager }), clock, store }
}

/** The code of the error a promise rejects with, or `ok`. */
export async function outcomeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'ok'
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
