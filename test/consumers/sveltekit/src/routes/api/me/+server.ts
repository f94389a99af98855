import { handleErrors, inject } from 'tokenlib/fetch'
import { tokens } from '#lib/server/tokens.ts'
import type { RequestHandler } from './$types'

const me = handleErrors({ config: tokens.config })(
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
)

export const GET: RequestHandler = ({ request }) => me(request)
export const POST: RequestHandler = ({ request }) => me(request)
