// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { defineHandler, defineValidatedHandler, H3, type H3Event, readBody } from 'h3'
import { z } from 'zod'
import { type Dependency, type RequestToken, TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/h3'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function same<A, B>(...differ: Equal<A, B> extends true ? [] : ['types differ']): void

const tokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: 's' }),
  claims: z.object({ age: z.number() }),
})
const getTokenDep: Dependency<RequestToken> = async (request) =>
  (await tokens.getTokenFromRequest(request)) ?? Promise.reject(new Error('none'))
const app = new H3()

// A handler gets the typed values, then h3's event.
app.get(
  '/users/:id',
  inject({ payload: tokens.accessTokenRequired, token: getTokenDep, one: () => 1 }, (values, event) => {
    same<typeof values.payload.age, number>()
    same<typeof values.token, RequestToken>()
    same<typeof values.one, number>()
    same<typeof event, H3Event>()
    // @ts-expect-error there is no such claim
    void values.payload.agee
    // @ts-expect-error nothing of that name was injected
    void values.user
    // @ts-expect-error values are read-only
    values.one = 2
    sendCookies(event, [])
    return values.payload.age
  }),
  { middleware: [enforce(tokens.accessTokenRequired)] },
)

// What the handler expects of the request is kept, and so is its answer.
const post = defineHandler(
  inject(
    { payload: tokens.accessTokenOptional },
    async ({ payload }, event: H3Event<{ body: { title: string } }>) => {
      same<typeof payload, TokenPayload<{ age: number }> | null>()
      const body = await readBody(event)
      same<typeof body, { title: string } | undefined>()
      const { title } = await event.req.json()
      same<typeof title, string>()
      return title.length
    },
  ),
)
app.post('/posts', post)
same<ReturnType<typeof post>, Promise<number>>()

defineValidatedHandler({
  middleware: [enforce(tokens.accessTokenRequired)],
  validate: { body: z.object({ title: z.string() }) },
  handler: inject(
    { payload: tokens.accessTokenRequired },
    async (_, event: H3Event<{ body: { title: string } }>) => (await event.req.json()).title satisfies string,
  ),
})

app.use(handleErrors({ realm: 'shop' })).use('/admin/**', enforce(tokens.require({ scopes: ['admin'] })))
app.get('/by-hand', async (event) => (await tokens.accessTokenRequired(event.req)).age satisfies number)
// @ts-expect-error a guard is no handler: it has nothing to answer
app.get('/', enforce(tokens.accessTokenRequired))
