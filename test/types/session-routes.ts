// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
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
  describeUser(uid, { claims, scopes, reason }) {
    same<typeof uid, string>()
    same<typeof claims.age, string>()
    same<typeof reason, 'login' | 'refresh'>()
    return { claims: { age: `${claims.age}1` }, scopes: [...scopes, uid], access: { expiresIn: '1m' } }
  },
})
createSessionRoutes(typed, { logIn: async () => null, describeUser: () => ({}) })
createSessionRoutes(typed, { logIn: () => Response.json({}), describeUser: async () => null })
// @ts-expect-error a forgotten return must not keep rights
createSessionRoutes(typed, { logIn: () => null, describeUser: () => undefined })
// @ts-expect-error the claims are those of the schema
createSessionRoutes(typed, { logIn: () => null, describeUser: () => ({ claims: { age: 36 } }) })
// @ts-expect-error the claims are those of the schema
createSessionRoutes(typed, { logIn: () => ({ uid: 'ada', age: 36 }) })
// @ts-expect-error a claim is missing
createSessionRoutes(typed, { logIn: () => ({ uid: 'ada' }) })
// @ts-expect-error undefined is not an answer
createSessionRoutes(typed, { logIn: () => undefined })
// @ts-expect-error a session cannot begin later
createSessionRoutes(typed, { logIn: () => null, describeUser: () => ({ access: { notBefore: '1m' } }) })
// @ts-expect-error there is no such option
createSessionRoutes(typed, { logIn: () => null, login: () => null })

const plain = new TokenManager({ config })
createSessionRoutes(plain, { logIn: ({ name }) => (typeof name === 'string' ? { uid: name, any: 1 } : null) })

// At the manager, a description does not decide what the claims are.
const described = new TokenManager({
  config,
  describeUser: async (uid, { claims }) => ({ claims: { ...claims, name: uid }, scopes: ['read'] }),
  clientIp: (request) => request.header('x-real-ip') ?? request.ip,
})
described.createAccessToken({ uid: 'ada', whatever: 1 })
new TokenManager({
  config,
  claims: z.object({ role: z.enum(['admin', 'user']) }),
  describeUser: (_uid, { claims }) => ({ claims: { role: claims.role === 'admin' ? 'user' : 'admin' } }),
})
new TokenManager({
  config,
  claims: z.object({ role: z.enum(['admin', 'user']) }),
  // @ts-expect-error the schema knows no such role
  describeUser: () => ({ claims: { role: 'root' } }),
})

const roles = new TokenManager({ config, claims: z.object({ role: z.enum(['admin', 'user']) }) })
createSessionRoutes(roles, {
  logIn: () => ({ uid: 'ada', role: 'user' }),
  describeUser: async (uid) => (uid === '' ? null : { claims: { role: uid === 'ada' ? 'admin' : 'user' } }),
})
