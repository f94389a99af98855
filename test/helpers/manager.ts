import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createVirtualClock, type VirtualClock } from '../../packages/tokenlib/src/testing/clocks.js'

/** Long enough for HS512. */
export const SECRET = 'a-test-secret-that-is-long-enough-for-every-hmac-algorithm-there-is'

/** 2026-01-01T00:00:00Z, in epoch seconds. */
export const NOW = 1_767_225_600

/** How long a check may take where its deadline is not what is tested: a busy machine must not pass for a refusal. */
export const PATIENT = { JWT_REVOCATION_TIMEOUT: '20s' } as const satisfies TokenConfigOptions

/** A clock that stands still until it is moved; `seconds` is the time it shows. */
export function createClock(seconds: number = NOW) {
  const clock = (): number => clock.seconds * 1000
  clock.seconds = seconds
  return clock
}

/** A clock like that of `createClock`, which runs timers as well. To set `seconds` is to set the time of day. */
export function createTimedClock(): VirtualClock & { seconds: number } {
  const clock = createVirtualClock(new Date(NOW * 1000))
  return Object.defineProperty(clock as VirtualClock & { seconds: number }, 'seconds', {
    get: () => clock() / 1000,
    set(seconds: number) {
      clock.set(new Date(seconds * 1000))
    },
  })
}

/** A manager with a secret and a clock of its own; `options` are configuration fields. */
export function createManager(options: TokenConfigOptions = {}, clock = createClock()) {
  const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT, ...options })
  const tokens = new TokenManager({ config, clock })
  return { tokens, clock }
}

/** A GET request that carries a bearer token. */
export function withBearer(token: string, path = '/'): Request {
  return new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${token}` } })
}

/** The header and claims of a token, opened without any check. */
export function openToken(token: string): {
  header: Record<string, unknown>
  claims: Record<string, unknown>
} {
  const [header = '', claims = ''] = token.split('.')
  const parse = (segment: string) =>
    JSON.parse(Buffer.from(segment, 'base64url').toString()) as Record<string, unknown>
  return { header: parse(header), claims: parse(claims) }
}
