import { TokenConfig, type TokenConfigOptions, TokenManager } from 'tokenlib'
import { createConsole } from '@tokenlib/console'
import { type FetchHandler, handleErrors, implicitRefresh, inject } from 'tokenlib/fetch'
import { createSessionRoutes, type MountableRoutes } from 'tokenlib/session-routes'
import { PAGE_PATH } from './options.js'
import { readPageFiles } from './page-files.js'
import type { StoreSwitch } from './store-switch.js'
import { createLogIn, describeUser } from './users.js'

/** The page of the example application, and the routes that it uses. */
export interface Page {
  /** A manager of its own on the same keys and the same store: its tokens are in cookies and live for seconds. */
  readonly tokens: TokenManager
  /** The page, its session routes and the console; every framework mounts them. */
  readonly routes: readonly MountableRoutes[]
}

/** What the page is built from. */
export interface PageOptions {
  /** The configuration of the application, whose keys the page shares. */
  readonly config: TokenConfig
  /** The store of the application; if it is a replica, it copies the store of the switch. */
  readonly store: StoreSwitch['store']
  readonly storeSwitch: StoreSwitch
  /** What the page shows about the application: its framework and its store. */
  readonly facts: Readonly<Record<string, string>>
}

/** Creates the page; `ConfigurationError` for a configuration that cannot have one. */
export function createPage({ config: given, store, storeSwitch, facts }: PageOptions): Page {
  const config = createPageConfig(given)
  const tokens = new TokenManager({ config, store })

  const sessionRoutes = createSessionRoutes(tokens, {
    logIn: createLogIn(),
    describeUser,
  })
  const operatorConsole = createConsole(tokens, {
    allow: tokens.require({ scopes: ['operator'] }),
    store,
  })
  return {
    tokens,
    routes: [
      createPageRoutes(tokens, storeSwitch, facts),
      sessionRoutes,
      // Its page does not refresh tokens itself.
      refreshFirst(tokens, operatorConsole),
    ],
  }
}

// The routes of the specification read headers, with lifetimes for curl. The page uses cookies, and short lifetimes so that
// you can watch a token expire. The environment sets keys and lifetimes; the cookie fields are fixed.
function createPageConfig(config: TokenConfig): TokenConfig {
  const { env } = process
  const shared = Object.entries(config).filter(([name]) => !/COOKIE|CSRF|LOCATION/.test(name))
  return new TokenConfig({
    ...(Object.fromEntries(shared) as TokenConfigOptions),
    JWT_ACCESS_TOKEN_EXPIRES: env['JWT_ACCESS_TOKEN_EXPIRES'] ? config.JWT_ACCESS_TOKEN_EXPIRES : '20s',
    JWT_REFRESH_TOKEN_EXPIRES: env['JWT_REFRESH_TOKEN_EXPIRES'] ? config.JWT_REFRESH_TOKEN_EXPIRES : '1h',
    JWT_TOKEN_LOCATION: 'cookies',
    // Plain HTTP, on this machine only.
    JWT_COOKIE_SECURE: false,
  })
}

function createPageRoutes(
  tokens: TokenManager,
  storeSwitch: StoreSwitch,
  facts: PageOptions['facts'],
): MountableRoutes {
  const { config } = tokens
  const files = readPageFiles()
  const describeStore = (): Response =>
    Response.json({ isStopped: storeSwitch.isStopped() }, { headers: { 'cache-control': 'no-store' } })

  const routes: Readonly<Record<string, FetchHandler>> = {
    'GET /api/facts': () => Response.json(facts),
    // A protected route of the application, like any other.
    'GET /api/greeting': handleErrors({ config })(
      inject({ payload: tokens.accessTokenRequired }, ({ payload }) =>
        Response.json({ message: `Hello, ${payload.sub}` }),
      ),
    ),
    'GET /api/store': describeStore,
    // Needs no token: while the store is stopped, no token can be checked.
    'POST /api/store/stop': changeStore(() => storeSwitch.stop(), describeStore),
    'POST /api/store/start': changeStore(() => storeSwitch.start(), describeStore),
  }

  return {
    path: PAGE_PATH,
    async handle(request) {
      const { pathname } = new URL(request.url)
      if (pathname !== PAGE_PATH && !pathname.startsWith(`${PAGE_PATH}/`)) return null
      const name = pathname.slice(PAGE_PATH.length)
      const file = files.get(name === '/' ? '' : name)
      if (file !== undefined && (request.method === 'GET' || request.method === 'HEAD')) return file()
      return (await routes[`${request.method} ${name}`]?.(request)) ?? null
    },
  }
}

// Pages of other sites must not stop the store. They cannot send this header cross-origin. With DNS rebinding they are
// same-origin, but their requests name the wrong host.
function changeStore(change: () => void, describe: () => Response): FetchHandler {
  return (request) => {
    const isOwn = OWN_HOSTS.includes(new URL(request.url).hostname)
    if (!isOwn || request.headers.get('x-example-page') === null) {
      return Response.json({ message: 'Only the page of the example may do this' }, { status: 403 })
    }
    change()
    return describe()
  }
}

// The servers of the example listen on this machine only (server.ts).
const OWN_HOSTS = ['127.0.0.1', 'localhost']

function refreshFirst(tokens: TokenManager, routes: MountableRoutes): MountableRoutes {
  const refreshed = handleErrors({ config: tokens.config })(
    implicitRefresh(tokens)(
      async (request) => (await routes.handle(request)) ?? new Response('Not Found', { status: 404 }),
    ),
  )
  return { path: routes.path, handle: async (request) => refreshed(request) }
}
