import type { KeyObject } from 'node:crypto'
import {
  ConfigurationError,
  isTokenError,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../../../packages/tokenlib/src/index.js'
import type { Target, VerifierOptions } from '../target.js'

/** This library. */
export const tokenlib: Target = {
  name: 'tokenlib',
  open(options) {
    const tokens = createManager(options)
    return (token) => tokens.verify(token)
  },
  guard(options) {
    const tokens = createManager(options, {
      JWT_TOKEN_LOCATION: options.cookie === undefined ? ['headers'] : ['cookies'],
      ...(options.cookie !== undefined && { JWT_ACCESS_COOKIE_NAME: options.cookie }),
    })
    return (request) => tokens.accessTokenRequired(request)
  },
  isRefusal: (error) => isTokenError(error) || error instanceof ConfigurationError,
}

function createManager(options: VerifierOptions, others: TokenConfigOptions = {}): TokenManager {
  const { algorithm, key, issuer, audience, leeway, cache = false } = options
  const field = algorithm === undefined || algorithm.startsWith('HS') ? 'JWT_SECRET_KEY' : 'JWT_PUBLIC_KEY'
  const config = new TokenConfig({
    [field]: key as KeyObject,
    JWT_ALGORITHM: algorithm,
    JWT_DECODE_ISSUER: issuer,
    JWT_DECODE_AUDIENCE: audience,
    JWT_DECODE_LEEWAY: leeway,
    JWT_VERIFIED_CACHE_SIZE: cache ? 1000 : 0,
    ...others,
  })
  return new TokenManager({ config })
}
