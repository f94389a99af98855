import { systemRandom } from '../tokens/ids.js'
import type { AnyClaims } from '../tokens/payload.js'
import type { ClaimsSchema, JsonClaims } from '../tokens/extra-claims.js'
import { TokenConfig, type TokenConfigOptions } from '../config/config.js'
import { createTokenMaker } from '../sessions/token-maker.js'
import { resolveSettings } from '../config/settings.js'
import { TokenManager } from '../manager.js'
import { choice, flag, listOf, type OptionKinds, parseOptions, text } from '../options.js'
import type { RevocationStore } from '../revocation/store.js'
import { type Clock, parseDuration } from '../time.js'
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { ALGORITHMS } from '../tokens/algorithms.js'
import type { Algorithm } from '../tokens/jose.js'
import { createFrozenClock, type FrozenClock } from './clocks.js'

export { createFrozenClock, createVirtualClock, type FrozenClock, type VirtualClock } from './clocks.js'

/** What is wrong with a minted token; nothing, when no flag is set. */
export interface MintOptions {
  /** Default `access`. */
  readonly type?: 'access' | 'refresh'
  readonly scopes?: readonly string[]
  /** Its lifetime has ended. */
  readonly expired?: boolean
  /** Its lifetime has not begun. */
  readonly notYetValid?: boolean
  /** Makes the test manager treat it as revoked. */
  readonly revoked?: boolean
  /** Signed with a key of the same algorithm that the manager does not know. */
  readonly wrongKey?: boolean
  /** A minted access token is fresh unless this is set. */
  readonly notFresh?: boolean
}

const MINT_OPTIONS: OptionKinds<MintOptions> = {
  type: choice(['access', 'refresh']),
  scopes: listOf(text, 0),
  expired: flag,
  notYetValid: flag,
  revoked: flag,
  wrongKey: flag,
  notFresh: flag,
}

/** A manager for tests, and tokens of every kind for it. */
export interface TestTokens<Input extends object, Output extends object> {
  readonly tokens: TokenManager<Input, Output>
  readonly clock: FrozenClock
  /** A token of a session of its own, which no store keeps; the manager accepts it, unless the options spoil it. */
  readonly mintToken: (claims: { readonly uid: string } & Input, options?: MintOptions) => string
  /** The headers that carry a token. */
  readonly authHeaders: (token: string) => Record<string, string>
}

/** The options of a test manager, besides configuration fields. */
export interface TestTokensOptions<Input extends object, Output extends object> {
  readonly claims?: ClaimsSchema<Input, Output>
  /** Opens a store that goes by the manager's clock: `(clock) => createMemoryStore({ clock })`. */
  readonly openStore?: (clock: Clock) => RevocationStore
}

// Seconds. A token minted as expired lived half of it, and ended half of it ago.
const HOUR = 3600

/** A manager with a clock that stands still and its own key; the options include every configuration field. */
export function createTestTokens<Input extends object = JsonClaims, Output extends object = AnyClaims>({
  claims,
  openStore,
  ...fields
}: TokenConfigOptions & TestTokensOptions<Input, Output> = {}): TestTokens<Input, Output> {
  const clock = createFrozenClock()
  const hasKey = fields.JWT_SECRET_KEY != null || fields.JWT_PRIVATE_KEY != null
  const config = new TokenConfig(hasKey ? fields : { ...fields, ...createKeyFields(fields.JWT_ALGORITHM) })
  const store = openStore?.(clock)
  const tokens = new TokenManager<Input, Output>({
    config,
    clock,
    store,
    ...(claims !== undefined && { claims }),
  })
  const revoked = new Set<string>()
  tokens.setCallbackTokenBlocklist((token) => revoked.has(token))

  const leeway = parseDuration(config.JWT_DECODE_LEEWAY)
  let stranger: TokenConfigOptions | undefined

  return {
    tokens,
    clock,
    mintToken(given, options = {}) {
      const flags = parseOptions('mintToken()', options, MINT_OPTIONS)
      const key = flags.wrongKey ? (stranger ??= createOtherKey(config)) : {}
      const shift = flags.notYetValid ? HOUR + leeway : flags.expired ? -HOUR - leeway : 0
      const settings = resolveSettings(toIssuing(config, key), {
        schema: claims ?? null,
        issuers: [],
        emit: () => undefined,
      })
      const maker = createTokenMaker({
        settings,
        now: () => clock() + shift * 1000,
        random: systemRandom,
        emit: () => undefined,
        store: null,
      })
      const token = maker.createToken(
        flags.type ?? 'access',
        given,
        {
          ...(flags.expired && { expiresIn: HOUR / 2 }),
          ...(flags.scopes && { scopes: flags.scopes }),
          fresh: flags.notFresh !== true,
        },
        maker.startSession(),
      )
      if (flags.revoked) revoked.add(token)
      return token
    },
    authHeaders: (token) => ({
      [config.JWT_HEADER_NAME.toLowerCase()]: `${config.JWT_HEADER_TYPE} ${token}`.trim(),
    }),
  }
}

// Creates tokens that the manager accepts, even if its configuration only reads tokens from another issuer.
function toIssuing(config: TokenConfig, key: TokenConfigOptions): TokenConfig {
  const fields = Object.fromEntries(Object.entries(config)) as TokenConfigOptions
  return new TokenConfig({
    ...fields,
    JWT_ENCODE_ISSUER: config.JWT_ENCODE_ISSUER ?? [config.JWT_DECODE_ISSUER].flat()[0] ?? null,
    JWT_ENCODE_AUDIENCE: config.JWT_ENCODE_AUDIENCE ?? config.JWT_DECODE_AUDIENCE,
    ...key,
  })
}

function createOtherKey(config: TokenConfig): TokenConfigOptions {
  return {
    JWT_PUBLIC_KEY: null,
    JWT_DECODE_ALGORITHMS: null,
    ...createKeyFields(config.JWT_ALGORITHM),
  }
}

/** Configuration fields with a new random key for an algorithm. */
function createKeyFields(algorithm: Algorithm = 'HS256'): TokenConfigOptions {
  const spec = ALGORITHMS[algorithm]
  if (spec.family === 'hmac') return { JWT_SECRET_KEY: randomBytes(spec.minSecretBytes) }
  return { JWT_PRIVATE_KEY: createPrivateKey(algorithm) }
}

function createPrivateKey(algorithm: Algorithm): KeyObject {
  const spec = ALGORITHMS[algorithm]
  if (spec.family === 'ecdsa') return generateKeyPairSync('ec', { namedCurve: spec.curve }).privateKey
  if (spec.family === 'eddsa') return generateKeyPairSync('ed25519').privateKey
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}
