import {
  type RevocationStore,
  setAccessCookies,
  setRefreshCookies,
  type TokenConfigOptions,
} from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createCookieJar } from '../helpers/cookie-jar.js'
import { createClock } from '../helpers/manager.js'
import { createRevocable } from '../helpers/revocable.js'

export const COOKIES = {
  JWT_TOKEN_LOCATION: ['headers', 'cookies'],
  JWT_ACCESS_TOKEN_EXPIRES: '5m',
  JWT_REFRESH_TOKEN_EXPIRES: '1d',
} as const satisfies TokenConfigOptions

/** A manager, a browser's cookies after a login, and a switch that takes the store away. */
export async function logIn(
  manager: Pick<NonNullable<Parameters<typeof createRevocable>[1]>, 'describeUser' | 'clientIp'> = {},
  fields: TokenConfigOptions = {},
) {
  const clock = createClock()
  const memory = createMemoryStore({ clock })
  let isGone = false
  const assertThere = (): void => {
    if (isGone) throw new Error('connection refused')
  }
  const store: RevocationStore = {
    ...memory,
    isRevokedNow: undefined as never,
    async lookup(keys, options) {
      assertThere()
      return memory.lookup(keys, options)
    },
  }
  const { tokens } = createRevocable({ ...COOKIES, ...fields }, { clock, store, ...manager })
  const jar = createCookieJar()
  const pair = await tokens.sessions.open({ uid: 'ada' })
  jar.store([...setAccessCookies(tokens, pair.accessToken), ...setRefreshCookies(tokens, pair.refreshToken)])
  return { tokens, clock, jar, pair, takeAway: () => (isGone = true) }
}

/** The cookies that a refresh sets. */
export const TOKEN_COOKIES = ['access_token_cookie', 'csrf_access_token', 'refresh_token_cookie']
