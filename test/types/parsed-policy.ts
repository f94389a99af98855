// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { isFrom, parsePolicy } from '../../packages/tokenlib/src/requests/policy.js'
import type { TokenLocation } from '../../packages/tokenlib/src/http/read-token.js'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

// `'https://a.example'.includes('a')` is true: what a policy is compared with must be a list.
const parsed = parsePolicy({ issuer: 'https://a.example', locations: 'headers' })
same<typeof parsed.issuer, readonly string[] | undefined>()
same<typeof parsed.locations, readonly TokenLocation[] | undefined>()
isFrom('a', parsed)
// @ts-expect-error a policy that was not parsed
isFrom('a', { issuer: 'https://a.example' })
