import { headers } from 'next/headers'
import { cache } from 'react'
import { isTokenError, toErrorResponse, type TokenPayload } from 'tokenlib'
import { tokens } from '@/lib/tokens'

/** The payload of the visitor's token, or `null` without a valid one. Checked once per page. */
export const readVisitor = cache(async (): Promise<TokenPayload | null> => {
  try {
    return await tokens.accessTokenOptional({
      method: 'GET',
      headers: Object.fromEntries(await headers()),
    })
  } catch (error) {
    // An outage is not a logout.
    if (isTokenError(error) && toErrorResponse(error).status !== 503) return null
    throw error
  }
})
