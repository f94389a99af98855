import { setAccessCookies, setRefreshCookies } from 'tokenlib'
import { sendCookies } from 'tokenlib/fetch'
import { tokens } from '../../../lib/tokens.js'

export async function POST(request: Request): Promise<Response> {
  // Your check of the password belongs here.
  const uid = (await request.formData()).get('uid')
  if (typeof uid !== 'string' || uid === '') return Response.json('Who are you?', { status: 400 })

  const { accessToken, refreshToken } = await tokens.createTokenPair({ uid })
  return sendCookies(Response.redirect(new URL('/', request.url), 303), [
    ...setAccessCookies(tokens, accessToken),
    ...setRefreshCookies(tokens, refreshToken),
  ])
}
