import { TokenConfig, TokenManager } from 'tokenlib'
import { handleErrors, inject } from 'tokenlib/fetch'

const tokens = new TokenManager({ config: TokenConfig.fromEnv() })

export const runtime = 'edge'

export const GET = handleErrors({ config: tokens.config })(
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
)
