import type {
  TokenConfigOptions,
  TokenDependency,
  TokenPayload,
} from '../../../packages/tokenlib/src/index.js'
import { createManager } from '../../helpers/manager.js'
import { createRequest, csrfOf, type RequestOptions } from '../../helpers/requests.js'
import { outcomeOf } from '../../helpers/revocable.js'

/** The media type of the simplest form, which any site can send anywhere. */
export const FORM = 'application/x-www-form-urlencoded'

/** A manager on cookies, a victim who is logged in, and what becomes of a request in the victim's browser. */
export function createVictim(options: TokenConfigOptions = {}) {
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', ...options })
  const access = tokens.createAccessToken({ uid: 'ada' })
  const refresh = tokens.createRefreshToken({ uid: 'ada' })
  const cookies = { access_token_cookie: access, refresh_token_cookie: refresh }
  const send = (given: RequestOptions = {}, check: Check = tokens.accessTokenRequired): Promise<string> =>
    outcomeOf(check(createRequest({ method: 'POST', ...given, cookies: { ...cookies, ...given.cookies } })))
  const sendCsrf = (csrf: string): Promise<string> => send({ headers: { 'x-csrf-token': csrf } })
  const post = (body: string, headers: Record<string, string> = {}): Promise<string> =>
    send({ body, headers: { 'content-type': FORM, ...headers } })
  return { tokens, access, refresh, cookies, csrf: csrfOf(access), send, sendCsrf, post }
}

type Check = TokenDependency<TokenPayload>
