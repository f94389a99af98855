import { unsetCookies } from 'tokenlib'
import { handleErrors, sendCookies } from 'tokenlib/fetch'
import { tokens } from '@/lib/tokens'

export const POST = handleErrors({ config: tokens.config })(async (request) => {
  await tokens.logout(request)
  return sendCookies(Response.json('Logged out'), unsetCookies(tokens))
})
