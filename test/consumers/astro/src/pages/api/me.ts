import type { APIRoute } from 'astro'
import { handleErrors, inject } from 'tokenlib/fetch'
import { tokens } from '../../lib/tokens'

const me = handleErrors({ config: tokens.config })(
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
)

export const GET: APIRoute = ({ request }) => me(request)
export const POST: APIRoute = ({ request }) => me(request)
