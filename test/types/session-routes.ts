// Compiled by `npm run typecheck`, never run: each line that must not compile says so.
import { z } from 'zod'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createSessionRoutes, type Credentials } from 'tokenlib/session-routes'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const config = new TokenConfig({ JWT_SECRET_KEY: 's' })
const typed = new TokenManager({
  config,
  claims: z.object({ age: z.string().transform(Number) }),
  subjectGetter: (uid) => ({ name: uid }),
})

// The claims of logIn are the input of the schema, the payload has its output.
createSessionRoutes(typed, {
  logIn(credentials, request) {
    same<typeof credentials, Credentials>()
    same<typeof credentials.name, unknown>()
    same<typeof request, Request>()
    return { uid: 'ada', age: '36' }
  },
  claimsOnRefresh(payload) {
    same<typeof payload.age, number>()
    return { age: String(payload.age + 1) }
  },
  pairOptions(claims) {
    same<typeof claims.age, string>()
    return { scopes: [claims.uid] }
  },
})
createSessionRoutes(typed, { logIn: async () => null, claimsOnRefresh: () => undefined })
createSessionRoutes(typed, { logIn: () => Response.json({}), claimsOnRefresh: async () => null })
// @ts-expect-error the claims are those of the schema
createSessionRoutes(typed, { logIn: () => ({ uid: 'ada', age: 36 }) })
// @ts-expect-error a claim is missing
createSessionRoutes(typed, { logIn: () => ({ uid: 'ada' }) })
// @ts-expect-error undefined is not an answer
createSessionRoutes(typed, { logIn: () => undefined })
// @ts-expect-error a session cannot begin later
createSessionRoutes(typed, { logIn: () => null, pairOptions: () => ({ notBefore: '1m' }) })
// @ts-expect-error there is no such option
createSessionRoutes(typed, { logIn: () => null, login: () => null })

const plain = new TokenManager({ config })
createSessionRoutes(plain, { logIn: ({ name }) => (typeof name === 'string' ? { uid: name, any: 1 } : null) })
