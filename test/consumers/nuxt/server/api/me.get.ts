import { inject } from 'tokenlib/fetch'

const me = answerErrors(
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
)

export default defineEventHandler((event) => me(toWebRequest(event)))
