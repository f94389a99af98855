import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { serve, type ServerType } from '@hono/node-server'
import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { Hono } from 'hono'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTokenClient } from '../../packages/client/src/index.js'
import { mount } from '../../packages/tokenlib/src/frameworks/hono.js'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'

interface Recipe {
  readonly router: AnyTRPCRouter
  readonly tokens: TokenManager
}
interface Procedure {
  readonly query: () => Promise<unknown>
  readonly mutate: () => Promise<unknown>
}

// The code of the page, with the real client of tRPC in front of it.
const { router, tokens } = await importRecipe('docs/recipes/graphql-and-trpc.md')

async function importRecipe(page: string): Promise<Recipe> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const code = readFileSync(`${root}${page}`, 'utf8')
  const blocks = Array.from(code.matchAll(/^```ts\n([^]*?)^```/gm), ([, block = '']) => block)
  const used = blocks.filter((block, at) => at === 0 || block.includes('initTRPC'))
  mkdirSync(`${root}build/recipes`, { recursive: true })
  const file = `${root}build/recipes/trpc.ts`
  writeFileSync(file, `${used.join('\n')}\nexport { router, tokens }\n`)
  return (await import(/* @vite-ignore */ file)) as Recipe
}

let server: ServerType
let origin: string
beforeAll(async () => {
  const app = new Hono()
  const logIn = ({ name }: Readonly<Record<string, unknown>>) => (name === 'ada' ? { uid: name } : null)
  app.use(mount(createSessionRoutes(tokens, { logIn })))
  app.use('/trpc/*', (c) =>
    fetchRequestHandler({
      endpoint: '/trpc',
      req: c.req.raw,
      router,
      createContext: ({ req }) => ({ request: req }),
    }),
  )
  server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', overrideGlobalObjects: false })
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

test('the client of tRPC calls procedures with the fetch of @tokenlib/client, and reads the code of a rejection', async () => {
  const session = createTokenClient({ path: `${origin}/auth` })
  const send = (input: string | URL | Request, init?: object) => session.fetch(input, init)
  const links = [httpBatchLink({ url: `${origin}/trpc`, fetch: send })]
  const client = createTRPCClient<AnyTRPCRouter>({ links }) as unknown as Record<string, Procedure>
  const codeOf = async (call: Promise<unknown> | undefined): Promise<unknown> => {
    try {
      return await call
    } catch (error) {
      return error instanceof TRPCClientError ? (error.data as { tokenCode?: unknown }).tokenCode : error
    }
  }

  expect(await codeOf(client['me']?.query())).toBe('TOKEN_MISSING')
  await session.logIn({ name: 'ada', password: 'correct horse' })
  let lookups = 0
  tokens.setCallbackTokenBlocklist(() => {
    lookups++
    return false
  })
  expect(await Promise.all([client['me']?.query(), client['hello']?.query()])).toEqual(['ada', 'Hello ada'])
  expect(lookups).toBe(1)
  expect(await client['deleteAccount']?.mutate()).toBe(true)
  await tokens.revoke.user('ada')
  expect(await codeOf(client['me']?.query())).toBe('TOKEN_REVOKED')
})

test('a subscription of tRPC rejects a revoked token before its next event', async () => {
  const { accessToken } = await tokens.sessions.open({ uid: 'grace' })
  const request = new Request('http://localhost/', { headers: { authorization: `Bearer ${accessToken}` } })
  const caller = router.createCaller({ request }) as { feed: () => Promise<AsyncIterable<string>> }
  const feed = (await caller.feed())[Symbol.asyncIterator]()
  expect(await feed.next()).toEqual({ done: false, value: 'First' })
  await tokens.revoke.user('grace')
  await expect(feed.next()).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
})
