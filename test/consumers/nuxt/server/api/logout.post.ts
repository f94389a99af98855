import { unsetCookies } from 'tokenlib'
import { sendCookies } from 'tokenlib/fetch'

const logout = answerErrors(async (request) => {
  await tokens.logout(request)
  return sendCookies(Response.json('Logged out'), unsetCookies(tokens))
})

export default defineEventHandler((event) => logout(toWebRequest(event)))
