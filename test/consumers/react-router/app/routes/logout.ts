import { redirect } from 'react-router'
import { unsetCookies } from 'tokenlib'
import { handleErrors } from 'tokenlib/fetch'
import { toHeaders, tokens } from '../tokens.server'
import type { Route } from './+types/logout'

const logout = handleErrors({ config: tokens.config })(async (request) => {
  await tokens.logout(request)
  return redirect('/', { status: 303, headers: toHeaders(unsetCookies(tokens)) })
})

export function action({ request }: Route.ActionArgs) {
  return logout(request)
}
