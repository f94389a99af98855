// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { z } from 'zod'
import { createConsole } from '@tokenlib/console'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createMemoryStore } from 'tokenlib/memory'
import type { JsonValue, SessionDataSchema } from 'tokenlib/kit'
import { createSessionRoutes } from 'tokenlib/session-routes'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const config = new TokenConfig({ JWT_SECRET_KEY: 's' })
const store = createMemoryStore()

// Without a schema, data is JSON.
{
  const { sessions } = new TokenManager({ config, store })
  await sessions.open({ uid: 'ada' }, { data: { label: 'phone', cart: [1, { a: null }], none: undefined } })
  const session = await sessions.update('sid', 'ada', { label: null, cart: 5, other: null })
  same<NonNullable<typeof session>['data'], NonNullable<Awaited<ReturnType<typeof sessions.get>>>['data']>()
  const label = session?.data?.label
  same<typeof label, string | undefined>()
  const cart = session?.data?.['cart']
  same<typeof cart, JsonValue | undefined>()
  // @ts-expect-error a Date is not JSON
  await sessions.open({ uid: 'ada' }, { data: { when: new Date() } })
  // @ts-expect-error a label is a text
  await sessions.open({ uid: 'ada' }, { data: { label: 5 } })
  // @ts-expect-error data is an object
  await sessions.open({ uid: 'ada' }, { data: 'phone' })
  // @ts-expect-error changes have a user
  await sessions.update('sid', { label: null })
}

// With a schema, it is what the schema returns.
const typed = new TokenManager({
  config,
  store,
  sessionData: z.object({ tenant: z.string(), cart: z.number().optional() }),
})
{
  const { sessions } = typed
  await sessions.open({ uid: 'ada', role: 'any' }, { data: { tenant: 'north', label: 'phone' } })
  await sessions.open({ uid: 'ada' })
  for (const { data } of await sessions.list('ada')) {
    // A session may have only a label, whatever the schema demands.
    same<NonNullable<typeof data>['tenant'], string | undefined>()
    same<NonNullable<typeof data>['label'], string | undefined>()
    same<NonNullable<typeof data>['cart'], number | undefined>()
  }
  const found = await sessions.get('sid')
  same<NonNullable<NonNullable<typeof found>['data']>['tenant'], string | undefined>()
  const updated = await sessions.update('sid', 'ada', { cart: 5 })
  same<typeof updated, typeof found>()
  await sessions.update('sid', 'ada', { cart: null, label: null })
  // @ts-expect-error the tenant is missing
  await sessions.open({ uid: 'ada' }, { data: { label: 'phone' } })
  // @ts-expect-error the tenant is a text
  await sessions.open({ uid: 'ada' }, { data: { tenant: 5 } })
  // @ts-expect-error the schema knows no such member
  await sessions.update('sid', 'ada', { tenat: 'south' })
}

createSessionRoutes(typed, {
  logIn: () => ({ uid: 'ada' }),
  describeSession: async ({ uid }, { device }) =>
    typeof device === 'string' ? { tenant: uid, label: device } : null,
})
// @ts-expect-error the data is that of the schema
createSessionRoutes(typed, { logIn: () => null, describeSession: () => ({ tenant: 5 }) })

// A manager of any data can be passed on.
interface Cart {
  readonly items: readonly string[]
}
declare const cartSchema: SessionDataSchema<Cart>
const carts = new TokenManager({ config, store, sessionData: cartSchema })
for (const tokens of [typed, carts]) createConsole(tokens, { allow: async () => 'root' })
createSessionRoutes(carts, { logIn: () => null })
