import { setCookies } from 'tokenlib'
import { handleErrors, sendCookies } from 'tokenlib/fetch'
import { tokens } from '@/lib/tokens'

export const POST = handleErrors({ config: tokens.config })(async (request) => {
  const pair = await tokens.sessions.refresh(request)
  return sendCookies(Response.json('Refreshed'), setCookies(tokens, pair))
})
