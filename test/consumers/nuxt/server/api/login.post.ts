import { sendCookies } from 'tokenlib/fetch'

async function login(request: Request): Promise<Response> {
  // A form of another site could log the visitor in to the attacker's account. No form can send this media type.
  const mediaType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') return Response.json('Send JSON', { status: 415 })

  // Your check of the password belongs here.
  const { uid } = (await request.json()) as { uid: string }
  return sendCookies(Response.json({ id: uid }), toCookies(await tokens.sessions.open({ uid })))
}

export default defineEventHandler((event) => login(toWebRequest(event)))
