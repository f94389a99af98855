import { isTokenError, toErrorResponse } from 'tokenlib'
import { tokens } from '@/lib/tokens'

/** Refuses requests without a valid token early; each route still checks the token itself. */
export async function proxy(request: Request): Promise<Response | undefined> {
  try {
    await tokens.accessTokenRequired(request)
    return undefined
  } catch (error) {
    if (!isTokenError(error)) throw error
    const { status, headers, body } = toErrorResponse(error, { config: tokens.config })
    return Response.json(body, { status, headers })
  }
}

export const config = { matcher: ['/account/:path*', '/api/users/:path*'] }
