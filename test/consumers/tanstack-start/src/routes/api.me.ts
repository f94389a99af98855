import { createFileRoute } from '@tanstack/react-router'
import { handleErrors, inject } from 'tokenlib/fetch'
import { tokens } from '../tokens.server'

const me = handleErrors({ config: tokens.config })(
  inject({ payload: tokens.accessTokenRequired }, ({ payload }) => Response.json({ id: payload.sub })),
)

export const Route = createFileRoute('/api/me')({
  server: { handlers: { GET: ({ request }) => me(request), POST: ({ request }) => me(request) } },
})
