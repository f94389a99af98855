import type { AnyClaims } from '../claims/payload.js'
import type { ClaimsSchema } from '../claims/schema.js'
import { TokenConfig, type TokenConfigOptions } from '../manager/config.js'
import { type JsonClaims, TokenManager } from '../manager/token-manager.js'
import { createFrozenClock, type FrozenClock } from './frozen-clock.js'
import { createKeyFields } from './key-fields.js'

/** What is wrong with a minted token; nothing, when no flag is set. */
export interface MintOptions {
  /** Default `access`. */
  readonly type?: 'access' | 'refresh'
  readonly scopes?: readonly string[]
  /** Its lifetime has ended. */
  readonly expired?: boolean
  /** Its lifetime has not begun. */
  readonly notYetValid?: boolean
  /** The test manager says that it is revoked. */
  readonly revoked?: boolean
  /** Signed with a key of the same algorithm that the manager does not know. */
  readonly wrongKey?: boolean
  /** A minted access token is fresh unless this is set. */
  readonly notFresh?: boolean
}

/** A manager for tests, and tokens of every kind for it. */
export interface TestTokens<Input extends object, Output extends object> {
  readonly tokens: TokenManager<Input, Output>
  readonly clock: FrozenClock
  mintToken(claims: { readonly uid: string } & Input, options?: MintOptions): string
  /** The headers that carry a token. */
  authHeaders(token: string): Record<string, string>
}

const HOUR = 3_600_000

/** A manager with a clock that stands still and a secret of its own; `options` are configuration fields. */
export function createTestTokens<Input extends object = JsonClaims, Output extends object = AnyClaims>(
  options: TokenConfigOptions & { readonly claims?: ClaimsSchema<Input, Output> } = {},
): TestTokens<Input, Output> {
  const { claims, ...fields } = options
  const clock = createFrozenClock()
  const hasKey = fields.JWT_SECRET_KEY != null || fields.JWT_PRIVATE_KEY != null
  const config = new TokenConfig(hasKey ? fields : { ...fields, ...createKeyFields(fields.JWT_ALGORITHM) })
  const build = (settings: TokenConfig, shift: number): TokenManager<Input, Output> =>
    new TokenManager({ config: settings, clock: () => clock() + shift, ...(claims && { claims }) })

  const tokens = build(config, 0)
  const revoked = new Set<string>()
  tokens.setCallbackTokenBlocklist((token) => revoked.has(token))

  return {
    tokens,
    clock,
    mintToken(given, flags = {}) {
      const settings = flags.wrongKey ? withOtherKey(config) : config
      const shift = flags.notYetValid ? HOUR : flags.expired ? -HOUR : 0
      const issuer = build(settings, shift)
      const extras = {
        expiresIn: '30m',
        fresh: flags.notFresh !== true,
        ...(flags.scopes && { scopes: flags.scopes }),
      }
      const token =
        flags.type === 'refresh'
          ? issuer.createRefreshToken(given, extras)
          : issuer.createAccessToken(given, extras)
      if (flags.revoked) revoked.add(token)
      return token
    },
    authHeaders: (token) => ({
      [config.JWT_HEADER_NAME.toLowerCase()]: `${config.JWT_HEADER_TYPE} ${token}`.trim(),
    }),
  }
}

function withOtherKey(config: TokenConfig): TokenConfig {
  const fields = Object.fromEntries(Object.entries(config)) as TokenConfigOptions
  const withoutKeys = {
    ...fields,
    JWT_PUBLIC_KEY: null,
    JWT_PREVIOUS_SECRET_KEY: null,
    JWT_PREVIOUS_PUBLIC_KEY: null,
  }
  return new TokenConfig({
    ...withoutKeys,
    ...createKeyFields(config.JWT_ALGORITHM),
    JWT_DECODE_ALGORITHMS: null,
  })
}
