import { HTTPError } from 'nitro/h3'
import { inject } from 'tokenlib/h3'
import { tokens } from '../../utils/tokens'

export default inject({ payload: tokens.accessTokenRequired }, async ({ payload }, event) => {
  const id = event.context.params?.id
  if (id !== payload.sub) throw new HTTPError('Not your own record', { status: 403 })
  return { id, name: await event.req.text() }
})
