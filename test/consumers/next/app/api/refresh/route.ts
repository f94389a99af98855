import { setAccessCookies, setRefreshCookies } from 'tokenlib'
import { handleErrors, sendCookies } from 'tokenlib/fetch'
import { tokens } from '@/lib/tokens'

export const POST = handleErrors({ config: tokens.config })(async (request) => {
  const { accessToken, refreshToken } = await tokens.sessions.refresh(request)
  return sendCookies(Response.json('Refreshed'), [
    ...setAccessCookies(tokens, accessToken),
    ...setRefreshCookies(tokens, refreshToken),
  ])
})
