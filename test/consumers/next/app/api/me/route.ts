import { handleErrors, inject } from 'tokenlib/fetch'
import { tokens } from '@/lib/tokens'

export const GET = handleErrors({ config: tokens.config })(
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
)
