import { TokenConfig, TokenManager } from 'tokenlib'

const tokens = new TokenManager({ config: TokenConfig.fromEnv() })

// Next.js builds `middleware.ts`, other than `proxy.ts`, for the Edge runtime.
export async function middleware(request: Request): Promise<undefined> {
  await tokens.accessTokenRequired(request)
}
