import type { AnyClaims, JsonClaims, TokenManager } from 'tokenlib'
import type { SessionRoutesOptions } from 'tokenlib/session-routes'
import { createTestTokens, type FrozenClock } from 'tokenlib/testing'
import { createMemoryStore } from 'tokenlib/memory'
import type { SessionBrowser } from './session-browser.js'

/** What an application under the contract is to serve: `mount(createSessionRoutes(tokens, options))`. */
export interface SessionRoutesSetup {
  readonly tokens: TokenManager
  readonly options: SessionRoutesOptions<JsonClaims, AnyClaims>
}

/** The same, and what the contract does to it. */
export interface ControlledSetup extends SessionRoutesSetup {
  readonly clock: FrozenClock
  /** Makes every call of the store fail, or work again. */
  setStoreDown(isDown: boolean): void
  /** Users who do not exist any more. */
  readonly gone: Set<string>
  /** Users whose tokens have the scope `admin`. */
  readonly admins: Set<string>
}

/** What the cases of the contract work with. */
export interface SessionCases {
  readonly test: (title: string, run: (context: CaseContext) => Promise<void>) => void
}

/** What one case works with; no other case uses its user. */
export interface CaseContext extends Omit<ControlledSetup, keyof SessionRoutesSetup> {
  readonly user: string
  readonly browser: SessionBrowser
  readonly openBrowser: () => SessionBrowser
}

/** A manager on a memory store, and users who all have the password `secret`. */
export function createSetup(): ControlledSetup {
  let isDown = false
  const gone = new Set<string>()
  const admins = new Set<string>()
  const { tokens, clock } = createTestTokens({
    JWT_TOKEN_LOCATION: ['cookies', 'headers'],
    JWT_COOKIE_SECURE: false,
    JWT_REFRESH_COOKIE_PATH: '/auth',
    JWT_REFRESH_GRACE: '10s',
    JWT_REVOCATION_TIMEOUT: '20s',
    openStore: (now) => breakable(createMemoryStore({ clock: now, allowInProduction: true }), () => isDown),
  })
  return {
    tokens,
    clock,
    gone,
    admins,
    setStoreDown(next) {
      isDown = next
    },
    options: {
      logIn: ({ name, password }) =>
        typeof name === 'string' && name !== '' && password === 'secret'
          ? { uid: name, role: 'reader' }
          : null,
      describeUser: (uid) => (gone.has(uid) ? null : { scopes: admins.has(uid) ? ['admin'] : [] }),
      describeSession: (_user, { device }) =>
        typeof device === 'string' ? { label: device, tenant: 'north' } : null,
      rateLimit: { before: ({ credentials }) => (credentials['name'] === 'flood' ? 30 : null) },
    },
  }
}

// The target is empty: a proxy of a frozen object could not replace its members.
function breakable<Target extends object>(target: Target, isDown: () => boolean): Target {
  return new Proxy(Object.create(target) as Target, {
    get(_empty, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member === 'object' && member !== null) return breakable(member, isDown)
      if (typeof member !== 'function') return member
      return async (...args: unknown[]): Promise<unknown> => {
        if (isDown()) throw new Error('The store was taken away')
        return (member as (...given: unknown[]) => unknown).apply(target, args)
      }
    },
  })
}
