import { inject } from 'tokenlib/fetch'

const rename = answerErrors(
  inject({ payload: tokens.accessTokenRequired }, async ({ payload }, request, id: string | undefined) => {
    if (id !== payload.sub) return Response.json('Not your own record', { status: 403 })
    return Response.json({ id, name: await request.text() })
  }),
)

export default defineEventHandler((event) => rename(toWebRequest(event), getRouterParam(event, 'id')))
