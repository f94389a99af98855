import type { Handle } from '@sveltejs/kit/hooks'
import { sendCookies } from 'tokenlib/fetch'
import { readVisitor } from '#lib/server/tokens.ts'

export const handle: Handle = async ({ event, resolve }) => {
  event.locals.cookies = []
  event.locals.visitor = await readVisitor(event.request)
  const response = await resolve(event)
  // SvelteKit refuses `set-cookie` in `setHeaders`, and its `cookies.set` takes no complete values.
  return sendCookies(response, event.locals.cookies)
}
