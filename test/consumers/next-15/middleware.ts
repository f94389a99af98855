import { type NextRequest, NextResponse } from 'next/server'
import { isTokenError, refreshImplicitly, toErrorResponse } from 'tokenlib'
import { tokens } from '@/lib/tokens'

const GUARDED = ['/account', '/api/users']

/** Renews an expired access cookie before a page sees it, and refuses requests without a valid token early. */
export async function middleware(request: NextRequest): Promise<Response> {
  try {
    const refreshed = await refreshImplicitly(tokens, request)
    const headers = new Headers(request.headers)
    if (refreshed !== null) headers.set('cookie', refreshed.cookieHeader)
    if (GUARDED.some((path) => request.nextUrl.pathname.startsWith(path))) {
      await tokens.accessTokenRequired({ method: request.method, headers: Object.fromEntries(headers) })
    }
    if (refreshed === null) return NextResponse.next()
    const response = NextResponse.next({ request: { headers } })
    // The new cookies, and headers that keep them out of every shared cache.
    refreshed.applyTo(response.headers)
    return response
  } catch (error) {
    if (!isTokenError(error)) throw error
    const { status, headers, body } = toErrorResponse(error, { config: tokens.config })
    return Response.json(body, { status, headers })
  }
}

export const config = { runtime: 'nodejs', matcher: ['/((?!_next/|favicon.ico).*)'] }
