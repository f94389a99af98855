import type { TokenPayload } from 'tokenlib'

declare global {
  namespace App {
    interface Locals {
      /** The payload of the visitor's token, or `null` without a valid one. */
      visitor: TokenPayload | null
      /** `Set-Cookie` values that the hook adds to the response. */
      cookies: string[]
    }
  }
}
