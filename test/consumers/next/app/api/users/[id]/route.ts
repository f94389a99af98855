import { handleErrors, inject } from 'tokenlib/fetch'
import { tokens } from '@/lib/tokens'

interface RouteContext {
  readonly params: Promise<{ id: string }>
}

export const PUT = handleErrors({ config: tokens.config })(
  inject({ payload: tokens.accessTokenRequired }, async ({ payload }, request, { params }: RouteContext) => {
    const { id } = await params
    if (id !== payload.sub) return Response.json('Not your own record', { status: 403 })
    return Response.json({ id, name: await request.text() })
  }),
)
