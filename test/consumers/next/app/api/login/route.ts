import { setCookies } from 'tokenlib'
import { sendCookies } from 'tokenlib/fetch'
import { tokens } from '@/lib/tokens'

export async function POST(request: Request): Promise<Response> {
  // A form of another site could log the visitor in to the attacker's account. No form can send this media type.
  const mediaType = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') return Response.json('Send JSON', { status: 415 })

  // Your check of the password belongs here.
  const body = (await request.json().catch(() => null)) as { readonly uid?: unknown } | null
  const uid = body?.uid
  if (typeof uid !== 'string' || uid === '') return Response.json('Who are you?', { status: 400 })

  const pair = await tokens.sessions.open({ uid })
  return sendCookies(Response.json({ id: uid }), setCookies(tokens, pair))
}
