import { handleErrors, inject } from 'tokenlib/fetch'
import { tokens } from '../tokens.server'
import type { Route } from './+types/me'

const me = handleErrors({ config: tokens.config })(
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
)

export const loader = ({ request }: Route.LoaderArgs) => me(request)
export const action = ({ request }: Route.ActionArgs) => me(request)
