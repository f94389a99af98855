import { env as bindings } from 'cloudflare:workers'
import { isTokenError, TokenConfig, TokenManager } from 'tokenlib'
import {
  createDurableObjectStore,
  type DurableObjectContext,
  TokenStoreObject,
  type TokenStoreNamespace,
} from 'tokenlib/durable-objects'
import { replicate } from 'tokenlib/replica'
import { storeContract } from '@tokenlib/contracts'
import type { Clock } from 'tokenlib/kit'
import { PROTOCOL } from '../../../packages/tokenlib/src/stores/durable-objects/object.js'
import { FOREVER } from '../../../packages/tokenlib/src/kit.js'
import type { History } from '../histories/history.js'
import type { HistoryStore } from '../histories/reference-store.js'
import { createHistoryClock, type HistoryPlace, runHistory } from '../histories/run-history.js'

// The Worker of test/stores/durable-objects.long.test.ts. It runs in workerd, as one file that esbuild made.

/** What the configuration of workerd binds. */
export interface Bindings {
  /** Objects of the class `TokenStoreObject`. */
  readonly STORE: TokenStoreNamespace
  /** Objects of the class `TestStoreObject`. */
  readonly TEST_STORE: TokenStoreNamespace
  /** Objects of `TokenStoreObject` without SQLite storage. */
  readonly WITHOUT_SQLITE: TokenStoreNamespace
  /** Objects of a class that is not a store. */
  readonly OTHER_CLASS: TokenStoreNamespace
  /** The same Worker once more, in an isolate of its own, if there is one. */
  readonly OTHER?: { fetch(request: Request): Promise<Response> }
  readonly SECRET: string
}

export { TokenStoreObject }

const env = bindings as Bindings

/** The state of an object, with what only these tests need of it. */
interface TestContext extends DurableObjectContext {
  readonly id: { readonly name?: string; toString(): string }
  readonly storage: DurableObjectContext['storage'] & { deleteAll(): Promise<void> }
  abort(reason: string): void
}

// In one isolate with the objects, so that a test can set their clock.
const clocks = new Map<string, Clock>()

/** A store with a clock that tests set, and with the accidents that may happen to its data. */
export class TestStoreObject extends TokenStoreObject {
  readonly #context: TestContext
  #resetBy: unknown = null

  constructor(context: TestContext, given: unknown) {
    const clock = clocks.get(context.id.name ?? '')
    super(context, given, clock === undefined ? {} : { clock })
    this.#context = context
  }

  override async fetch(request: Request): Promise<Response> {
    const { storage } = this.#context
    const { pathname, hostname, searchParams } = new URL(request.url)
    if (hostname !== 'accidents.test') {
      const { operation } = (await request.clone().json()) as { readonly operation: string }
      if (operation === this.#resetBy) {
        this.#context.abort('reset for a test')
      }
      return super.fetch(request)
    }
    if (pathname === '/wipe') await storage.deleteAll()
    if (pathname === '/reset') this.#resetBy = searchParams.get('by')
    // As the recovery to a point in time does: the data of an earlier moment, and a new object.
    const copies = ['meta', 'revocations', 'sessions']
    if (pathname === '/save') {
      for (const name of copies)
        storage.sql.exec(`CREATE TABLE saved_${name} AS SELECT * FROM tokenlib_${name}`)
    }
    if (pathname === '/put-back') {
      for (const name of copies) {
        storage.sql.exec(`DELETE FROM tokenlib_${name}`)
        storage.sql.exec(`INSERT INTO tokenlib_${name} SELECT * FROM saved_${name}`)
      }
    }
    const sql = searchParams.get('sql') ?? 'SELECT 1'
    return Response.json(storage.sql.exec(sql).toArray())
  }
}

/** The same class under another name, which workerd gives no SQLite storage. */
export class WithoutSqlite extends TokenStoreObject {}

/** A class that answers every request with something of its own. */
export class OtherObject {
  fetch(): Response {
    return new Response('hello')
  }
}

const COUNT = `SELECT (SELECT count(*) FROM tokenlib_revocations) + (SELECT count(*) FROM tokenlib_sessions) +
  (SELECT count(*) FROM tokenlib_spent) AS rows`

async function cause(name: string, accident: string): Promise<unknown> {
  const stub = env.TEST_STORE.get(env.TEST_STORE.idFromName(name))
  const response = await stub.fetch(`https://accidents.test${accident}`, {
    method: 'POST',
    body: '',
    cf: { tokenlib: 'call', object: '' },
  })
  return response.json()
}

const steps: { readonly title: string; readonly run: () => Promise<void> }[] = []
storeContract(
  'Durable Objects',
  {
    open(place, clock) {
      clocks.set(place, clock)
      return createDurableObjectStore(env.TEST_STORE, { name: place, onWarning: () => undefined })
    },
    isShared: true,
    limitsSessions: true,
    keepsData: true,
    spends: true,
    wipe: async (place) => void (await cause(place, '/wipe')),
    async count(place) {
      const [row] = (await cause(place, `/?sql=${encodeURIComponent(COUNT)}`)) as [{ rows: number }]
      return row.rows
    },
  },
  {
    describe: (_name, run) => run(),
    test: (title, run) => steps.push({ title, run }),
    beforeAll: () => {},
    afterAll: () => {},
  },
)

const places = new Map<string, HistoryPlace>()

async function openPlace(name: string): Promise<HistoryPlace> {
  const known = places.get(name)
  if (known !== undefined) return known
  const clock = createHistoryClock(Date.now())
  clocks.set(name, clock.now)
  const open = async (): Promise<HistoryStore> => {
    const store = createDurableObjectStore(env.TEST_STORE, { name })
    await store.prepare({ longestLifetime: FOREVER })
    return store as HistoryStore
  }
  const place = { stores: [await open(), await open()] as const, clock }
  places.set(name, place)
  return place
}

// At module level, as an application does it.
const losses: number[] = []
const options = { config: new TokenConfig({ JWT_SECRET_KEY: env.SECRET }) }
const tokens = new TokenManager({
  ...options,
  store: createDurableObjectStore(env.STORE),
})
const testStore = createDurableObjectStore(env.TEST_STORE, { onWarning: () => undefined })
const testTokens = new TokenManager({ ...options, store: testStore })
const eagerTokens = new TokenManager({
  config: new TokenConfig({ JWT_SECRET_KEY: env.SECRET, JWT_REFRESH_GRACE: 0 }),
  store: createDurableObjectStore(env.STORE),
})
testTokens.on('storeLostData', ({ revokedBefore }) => losses.push(revokedBefore))

type Route = (given: string, request: Request) => Promise<unknown>

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const managers: Readonly<Record<string, () => TokenManager>> = {
  '': () => tokens,
  test: () => testTokens,
  // Without a grace, a session moves on immediately.
  eager: () => eagerTokens,
  own: () => new TokenManager({ ...options, store: createDurableObjectStore(env.STORE) }),
}

const createRoutes = (manager: TokenManager): Readonly<Record<string, Route>> => ({
  login: async (uid) => manager.sessions.open({ uid }),
  issue: async (uid) => manager.createAccessToken({ uid }),
  async check(token) {
    const { sub } = await manager.accessTokenRequired(bearer(token))
    return sub
  },
  async refresh(token) {
    const { accessToken, refreshToken } = await manager.sessions.refresh(bearer(token))
    return { accessToken, refreshToken }
  },
  async 'refresh-together'(token) {
    const attempts = Array.from({ length: 20 }, () => manager.sessions.refresh(bearer(token)))
    return (await Promise.allSettled(attempts)).map(({ status }) => status)
  },
  async logout(token) {
    await manager.logout(await manager.accessTokenRequired(bearer(token)))
  },
  async health() {
    const { status, error } = await manager.health()
    return { status, error: error === null ? null : error.message }
  },
  accident: (accident) => cause('tokenlib', accident),
  losses: async () => losses.splice(0),
  contract: async (at) => steps[Number(at)]?.run(),
  titles: async () => steps.map(({ title }) => title),
  async history(given) {
    const { place, history } = JSON.parse(given) as { readonly place: string; readonly history: History }
    return runHistory(await openPlace(place), history)
  },
  async prepare(binding) {
    const namespaces: Readonly<Record<string, unknown>> = { ...env }
    const store = createDurableObjectStore(namespaces[binding] as TokenStoreNamespace)
    await store.prepare({ longestLifetime: 1000 })
  },
  // Another Worker, which is bound to this one and not to its objects, sends what a call of the store looks like. It
  // chooses everything: the URL, the method, the headers, the body and `cf`.
  async forge(mark) {
    const call = {
      protocol: PROTOCOL,
      operation: 'revoke',
      arguments: [[{ kind: 'all', id: '', notBefore: 0, until: 0 }]],
      seen: { known: null, longestLifetime: 0 },
    }
    const init = { method: 'POST', body: JSON.stringify(call), cf: JSON.parse(mark) as object }
    const response = await env.OTHER!.fetch(new Request('https://tokenlib.invalid/store', init))
    return response.status
  },
  async replicate() {
    await replicate(createDurableObjectStore(env.STORE)).prepare({ longestLifetime: 1000 })
  },
})

export default {
  async fetch(request: Request): Promise<Response> {
    const { hostname } = new URL(request.url)
    // As an application that passes requests on to its objects.
    if (hostname === 'tokenlib.invalid') {
      const stub = env.STORE.get(env.STORE.idFromName('tokenlib')) as unknown as typeof env.OTHER
      return stub!.fetch(request)
    }
    const [, route = '', manager = ''] = new URL(request.url).pathname.split('/')
    if (env.OTHER !== undefined && request.headers.has('x-other')) return env.OTHER.fetch(request)
    try {
      const run = createRoutes((managers[manager] ?? (() => tokens))())[route] as Route
      return Response.json({ value: await run(await request.text(), request) })
    } catch (error) {
      const { name, message, stack, cause: reason } = error as Error
      const code: unknown =
        isTokenError(error) || 'code' in (error as Error) ? (error as { code: unknown }).code : name
      return Response.json({ error: { code, message, stack, reason: String(reason) } })
    }
  },
}
