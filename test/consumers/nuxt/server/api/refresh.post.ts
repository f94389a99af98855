import { sendCookies } from 'tokenlib/fetch'

const refresh = answerErrors(async (request) =>
  sendCookies(Response.json('Refreshed'), toCookies(await tokens.sessions.refresh(request))),
)

export default defineEventHandler((event) => refresh(toWebRequest(event)))
