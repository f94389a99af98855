import { createFileRoute } from '@tanstack/react-router'
import { mount } from 'tokenlib/fetch'
import { createSessionRoutes } from 'tokenlib/session-routes'
import { tokens } from '../tokens.server'

const routes = createSessionRoutes(tokens, {
  // Your check of the password belongs here.
  logIn: ({ name }) => (typeof name === 'string' ? { uid: name } : null),
})
const answer = mount(routes, () => new Response(null, { status: 404 }))

export const Route = createFileRoute('/auth/$')({
  server: { handlers: { ANY: ({ request }) => answer(request) } },
})
