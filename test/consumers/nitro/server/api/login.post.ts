import { defineHandler, HTTPError } from 'nitro/h3'
import { sendCookies } from 'tokenlib/h3'
import { toCookies, tokens } from '../utils/tokens'

export default defineHandler(async (event) => {
  // A form of another site could log the visitor in to the attacker's account. No form can send this media type.
  const mediaType = event.req.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') throw new HTTPError('Send JSON', { status: 415 })

  // Your check of the password belongs here.
  const { uid } = (await event.req.json()) as { uid: string }
  sendCookies(event, toCookies(await tokens.sessions.open({ uid })))
  return { id: uid }
})
