import type { APIRoute } from 'astro'
import { mount } from 'tokenlib/fetch'
import { createSessionRoutes } from 'tokenlib/session-routes'
import { tokens } from '../../lib/tokens'

const routes = createSessionRoutes(tokens, {
  // Your check of the password belongs here.
  logIn: ({ name }) => (typeof name === 'string' ? { uid: name } : null),
})
const answer = mount(routes, () => new Response(null, { status: 404 }))

export const ALL: APIRoute = ({ request }) => answer(request)
