import {
  type OwnKey,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  type RevocationStore,
} from '../../packages/tokenlib/src/index.js'
import { createClock, NOW, PATIENT } from './manager.js'

/** A moment so many seconds after the time that a test clock shows first. */
export function inSeconds(seconds: number): Date {
  return new Date((NOW + seconds) * 1000)
}

/** A manager with a list of keys and a clock of its own. Its tokens live for at most 100 seconds, unless the fields say otherwise. */
export function createKeyManager(
  keys: readonly OwnKey[],
  given: {
    readonly fields?: TokenConfigOptions
    readonly clock?: ReturnType<typeof createClock>
    readonly store?: RevocationStore
    readonly signTimeout?: string
  } = {},
) {
  const { fields, clock = createClock(), ...options } = given
  const config = new TokenConfig({
    JWT_ACCESS_TOKEN_EXPIRES: 50,
    JWT_REFRESH_TOKEN_EXPIRES: 100,
    ...PATIENT,
    ...fields,
  })
  return { tokens: new TokenManager({ config, clock, keys, ...options }), clock }
}
