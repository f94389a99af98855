import { createContext } from 'react-router'
import type { TokenPayload } from 'tokenlib'

/** The payload of the visitor's token, or `null` without a valid one. The middleware of the root sets it. */
export const visitorContext = createContext<TokenPayload | null>(null)
