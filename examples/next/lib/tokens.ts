import { TokenConfig, TokenManager } from 'tokenlib'

// The key comes from the environment: Next.js may load this module once for the proxy and again for the routes.
export const tokens = new TokenManager({
  config: TokenConfig.fromEnv({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] }),
})
