// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import { Hono } from 'hono'
import {
  chooseManager,
  decodeWithoutVerifying,
  type Dependency,
  hasScopes,
  type RequestToken,
  TokenConfig,
  TokenManager,
  type TokenPayload,
  type TokenPolicy,
  type TokenWithHeader,
} from 'tokenlib'
import type { JsonValue, RevocationRequest } from 'tokenlib/kit'
import { inject as injectFetch } from 'tokenlib/fetch'
import { inject } from 'tokenlib/hono'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const config = new TokenConfig({ JWT_SECRET_KEY: 's', JWT_ACCESS_TOKEN_EXPIRES: '15m' })
declare const request: Request

// Without a schema, extra claims are JSON.
{
  const tokens = new TokenManager({ config })
  const payload = await tokens.accessTokenRequired(request)
  same<typeof payload.sub, string>()
  same<typeof payload.exp, number | undefined>()
  same<typeof payload.age, JsonValue | undefined>()
  same<Awaited<ReturnType<typeof tokens.accessTokenOptional>>, TokenPayload | null>()
  tokens.createAccessToken({ uid: 'ada', foo: 'bar', list: [1, { a: null }] })
  // @ts-expect-error a Date is not JSON
  tokens.createAccessToken({ uid: 'ada', when: new Date() })
  // @ts-expect-error neither is a function
  tokens.createAccessToken({ uid: 'ada', run: () => 1 })
  // @ts-expect-error a uid is a string
  tokens.createAccessToken({ uid: 5 })
  // @ts-expect-error and required
  tokens.createAccessToken({ foo: 'bar' })
  // @ts-expect-error a payload is read-only
  payload.sub = 'eve'
  // @ts-expect-error an unknown option
  tokens.createAccessToken({ uid: 'ada' }, { expires: 5 })
  // @ts-expect-error an unknown configuration field
  void new TokenConfig({ JWT_SECRT_KEY: 's' })
}

// A policy in a variable may be optional, so its dependency may find nothing.
{
  const tokens = new TokenManager({ config })
  const policy: TokenPolicy = { fresh: true }
  same<Awaited<ReturnType<ReturnType<typeof tokens.require>>>, TokenPayload | null>()
  void tokens.require(policy)
  const required = tokens.require({ fresh: true, scopes: ['a'] })
  same<Awaited<ReturnType<typeof required>>, TokenPayload>()
  const both = tokens.require({ withHeader: true, fresh: true })
  same<Awaited<ReturnType<typeof both>>, TokenWithHeader>()
  const bothOrNull = tokens.require({ withHeader: true, optional: true })
  same<Awaited<ReturnType<typeof bothOrNull>>, TokenWithHeader | null>()
  const verified = await tokens.verify('', { withHeader: true })
  same<typeof verified, TokenWithHeader>()
  // @ts-expect-error the header is read-only
  verified.header.alg = 'none'
  // @ts-expect-error a flag
  tokens.require({ withHeader: 'yes' })
  const some = tokens.require({ anyScope: ['a', 'b'] })
  same<Awaited<ReturnType<typeof some>>, TokenPayload>()
  // @ts-expect-error a list of scopes, not a text
  tokens.require({ anyScope: 'a' })
  const optional = tokens.require({ optional: true })
  same<Awaited<ReturnType<typeof optional>>, TokenPayload | null>()
}

// What is decoded without verifying is no payload, and cannot be passed as one.
{
  const { header, payload } = decodeWithoutVerifying('')
  same<typeof header, Readonly<Record<string, unknown>>>()
  same<[typeof payload.sub, typeof payload.team], [unknown, unknown]>()
  // @ts-expect-error its claims may have any type
  const verified: TokenPayload = payload
  // @ts-expect-error nobody has verified its scopes
  hasScopes(payload, 'admin')
  // @ts-expect-error nor its subject
  void new TokenManager({ config }).logout(payload)
  // @ts-expect-error and nobody changes it
  payload.sub = 'eve'
  void verified
}

// A choice among managers has the payload of those that are chosen.
{
  const byAge = new TokenManager({ config, claims: z.object({ age: z.number() }) })
  const byRole = new TokenManager({ config, claims: z.object({ role: z.string() }) })
  const tenant = chooseManager(async (view) => (view.header('host') === 'a' ? byAge : byAge))
  const payload = await tenant.accessTokenRequired(request)
  same<typeof payload.age, number>()
  const maybe = await tenant.accessTokenOptional(request)
  same<typeof maybe, typeof payload | null>()
  const checked = await tenant.require({ withHeader: true })(request)
  same<typeof checked.payload.age, number>()
  const mixed = chooseManager((view) => (view.url === '/' ? byAge : byRole))
  const either = await mixed.require({ scopes: ['a'] })(request)
  if ('age' in either) same<typeof either.age, number>()
  // @ts-expect-error what may be absent has to be refused by the function itself
  chooseManager(() => new Map([['a', byAge]]).get('a'))
  // @ts-expect-error an unknown field
  tenant.require({ scope: ['a'] })
}

// With a schema of any library, payload.age is a number, and a wrong claim does not compile.
{
  const byZod = new TokenManager({ config, claims: z.object({ foo: z.string(), age: z.number() }) })
  const byValibot = new TokenManager({ config, claims: v.object({ foo: v.string(), age: v.number() }) })
  const byArktype = new TokenManager({ config, claims: type({ foo: 'string', age: 'number' }) })
  for (const tokens of [byZod, byValibot, byArktype]) {
    tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 })
    // @ts-expect-error age is a number
    tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: '36' })
    // @ts-expect-error foo is required
    tokens.createAccessToken({ uid: 'ada', age: 36 })
  }
  const zod = await byZod.accessTokenRequired(request)
  const valibot = await byValibot.freshTokenRequired(request)
  const arktype = await byArktype.require({ scopes: ['a'] })(request)
  const { payload: checked, header } = await byZod.require({ withHeader: true })(request)
  same<[typeof checked.age, typeof header.alg], [number, string]>()
  same<[typeof zod.age, typeof valibot.age, typeof arktype.age], [number, number, number]>()
  same<[typeof zod.foo, typeof valibot.foo, typeof arktype.foo], [string, string, string]>()
  // @ts-expect-error there is no such claim
  void zod.agee
  // @ts-expect-error there is no such claim
  void valibot.agee
  // @ts-expect-error there is no such claim
  void arktype.agee
}

// What goes in and what comes out may differ.
{
  const tokens = new TokenManager({
    config,
    claims: z.object({
      born: z.string().transform((text) => new Date(text)),
      role: z.string().default('guest'),
    }),
  })
  tokens.createAccessToken({ uid: 'ada', born: '1815-12-10' })
  const payload = await tokens.verify('')
  same<typeof payload.born, Date>()
  same<typeof payload.role, string>()
}

// The callback sees the typed payload, and a registration returns what it was given.
{
  const tokens = new TokenManager({ config, claims: z.object({ age: z.number() }) })
  const callback = tokens.setCallbackTokenBlocklist(async (token, { payload, signal, request: from }) => {
    same<typeof token, string>()
    same<typeof payload.age, number>()
    same<typeof signal, AbortSignal>()
    same<typeof from, RevocationRequest | null>()
    // @ts-expect-error a callback reads a request, and changes nothing
    if (from !== null) from.url = '/'
    return payload.age < 0
  })
  void callback
  tokens.setCallbackTokenBlocklist(() => false)
  // @ts-expect-error an answer is a boolean
  tokens.setCallbackTokenBlocklist(() => undefined)
  // @ts-expect-error and not a number
  tokens.setCallbackTokenBlocklist(async () => 1)
}

// The subject has the type its getter returns.
{
  const tokens = new TokenManager({
    config,
    subjectGetter: async (uid) => (uid === '' ? null : { name: uid }),
  })
  same<Awaited<ReturnType<typeof tokens.getCurrentSubject>>, { name: string }>()
}

// Adapters hand on the types of any dependency, the application's own included.
{
  const tokens = new TokenManager({ config, claims: z.object({ age: z.number() }) })
  const getTokenDep: Dependency<RequestToken> = async (request) =>
    (await tokens.getTokenFromRequest(request)) ?? Promise.reject(new Error('none'))

  const app = new Hono<{ Bindings: { NAME: string } }>()
  app.get(
    '/me/:id',
    inject({ payload: tokens.accessTokenRequired, token: getTokenDep, one: () => 1 }),
    (c) => {
      same<typeof c.var.payload.age, number>()
      same<typeof c.var.token, RequestToken>()
      same<typeof c.var.one, number>()
      same<typeof c.env.NAME, string>()
      // @ts-expect-error nothing of that name was injected
      void c.var.user
      return c.json(c.var.payload.age)
    },
  )
  app.get(
    '/me',
    inject({ payload: tokens.accessTokenRequired }, ({ payload }, c) => {
      same<typeof payload.age, number>()
      // @ts-expect-error there is no such claim
      void payload.agee
      return c.json(payload.age)
    }),
  )
  const handler = injectFetch(
    { payload: tokens.accessTokenOptional },
    ({ payload }, _request, context: { params: Promise<{ id: string }> }) => {
      same<typeof payload extends (infer P) | null ? P : never, TokenPayload<{ age: number }>>()
      void context.params
      return Response.json(payload?.age ?? null)
    },
  )
  void handler(request, { params: Promise.resolve({ id: '1' }) })
  // @ts-expect-error the route's context is part of the handler
  void handler(request)
}
