import { error, redirect } from '@sveltejs/kit'
import { isTokenError, toErrorResponse, unsetCookies } from 'tokenlib'
import { tokens } from '#lib/server/tokens.ts'
import type { Actions } from './$types'

export const actions: Actions = {
  async default({ request, locals }) {
    try {
      await tokens.logout(request)
    } catch (cause) {
      if (!isTokenError(cause)) throw cause
      const { status, body } = toErrorResponse(cause, { config: tokens.config })
      error(status, body.message)
    }
    locals.cookies.push(...unsetCookies(tokens))
    redirect(303, '/')
  },
}
