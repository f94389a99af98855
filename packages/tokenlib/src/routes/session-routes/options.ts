import { ConfigurationError } from '../../errors.js'
import { coversPath } from '../../requests/set-cookies.js'
import { tokenConfig, type TokenConfig } from '../../config/config.js'
import type { DescribeUser } from '../../sessions/describe-user.js'
import { internalsOf } from '../../sessions/internals.js'
import {
  callable,
  choice,
  count,
  flag,
  kindOf,
  type OptionKinds,
  parseOptions,
  required,
  unchecked,
  wholeSeconds,
} from '../../options.js'
import type { JsonSessionData, SessionData } from '../../revocation/session-data.js'
import type { Duration } from '../../time.js'
import type { TokenManager } from '../../manager.js'
import type { JsonClaims } from '../../tokens/extra-claims.js'
import { routePath } from '../router.js'

/** What a client sends to log in, as it came: the application checks every type. */
export type Credentials = Readonly<Record<string, unknown>>

/** What `logIn` finds: the claims of the user, `null` for wrong credentials, or a response of the application's own. */
export type LoginResult<Input extends object> = ({ readonly uid: string } & Input) | Response | null

/** One attempt to log in or to step up. */
export interface LoginAttempt {
  readonly route: 'login' | 'step-up'
  /** The client's address as `clientIp` of the manager reads it; `null` where it is not known. */
  readonly ip: string | null
  /** The user of a step-up, by the refresh token: whatever name the credentials have. `null` for a login. */
  readonly sub: string | null
  readonly credentials: Credentials
  readonly request: Request
}

/** How an attempt ended: `response` is one of the application's own, for a second factor for example. */
export type LoginOutcome = 'success' | 'failure' | 'response'

/** Where a rate limiter is asked and told. */
export interface LoginRateLimit {
  /** Called before `logIn`. The number of seconds after which the client may try again, or nothing to let it try now. */
  before(attempt: LoginAttempt): Promise<number | null | undefined> | number | null | undefined
  /** Called when it is known whether the user may log in, unless `logIn` has thrown. */
  after?(attempt: LoginAttempt, outcome: LoginOutcome): Promise<void> | void
}

/** What the session routes are built from; `Input` are the claims of the manager, `Known` those that tokens have. */
export interface SessionRoutesOptions<
  Input extends object,
  Known = Input,
  Data extends object = JsonSessionData,
> {
  /** The application's own check of credentials. It should take as long for an unknown user as for a known one. */
  logIn(credentials: Credentials, request: Request): Promise<LoginResult<Input>> | LoginResult<Input>
  /** Where the routes are. Default `/auth`. */
  readonly path?: string
  /**
   * Says what the tokens of a user contain, at the login and at every refresh; `null` rejects the user. Registered at the
   * manager, so that it counts for every refresh: as an option here for users who are known where the routes are made.
   */
  readonly describeUser?: DescribeUser<Input, Known>
  /** Returns the data of a new session, such as its `label`; `null` for none. Check what comes from the client. */
  describeSession?(
    user: { readonly uid: string } & Input,
    credentials: Credentials,
    request: Request,
  ): Promise<SessionData<Data> | null> | SessionData<Data> | null
  readonly rateLimit?: LoginRateLimit
  /** How long sessions last that are remembered, and those that are not, instead of `JWT_REFRESH_TOKEN_EXPIRES`. */
  readonly remember?: RememberLifetimes
  /** How many sessions a user may have, the new one included. */
  readonly maxSessions?: number
  /** What happens to a login that would exceed `maxSessions`; `refuse` responds with 403. Default `endOldest`. */
  readonly whenFull?: 'endOldest' | 'refuse'
  /**
   * Binds sessions to a key that the browser keeps on its device, in browsers that can do so (W3C Device Bound Session
   * Credentials). Needs both tokens in cookies. Experimental: it follows a draft, and may change in any version.
   */
  readonly deviceBound?: boolean
}

/** What every route works with; the types of claims end at `createSessionRoutes`. */
export interface RouteParts {
  readonly tokens: TokenManager
  /** The access token of a session in our store: users of other issuers are not ours, whatever their `sub`. */
  readonly accessTokenRequired: TokenManager['accessTokenRequired']
  readonly options: SessionRoutesOptions<JsonClaims>
}

/** How long sessions last, by what the user chose at the login. */
export interface RememberLifetimes {
  /** With "remember me". */
  readonly remembered?: Duration
  /** Without it. */
  readonly session?: Duration
}

const LIFETIMES: OptionKinds<RememberLifetimes> = { remembered: wholeSeconds, session: wholeSeconds }

/** What `SessionRoutesOptions` accept, whatever the types of the claims are. */
export const ROUTE_OPTIONS: OptionKinds<SessionRoutesOptions<never>> = {
  logIn: required(callable()),
  path: routePath,
  describeUser: callable(),
  describeSession: callable(),
  // Without a table of names: a limiter may be an instance of a class, with members of its own.
  rateLimit: kindOf('an object with a function before(), and after() if it has one', isRateLimit),
  remember: unchecked(),
  maxSessions: count(1),
  whenFull: choice(['endOldest', 'refuse']),
  deviceBound: flag,
}

/** What other names for them mean. */
export const MEANT_OPTIONS: Readonly<Record<string, string>> = {
  login: 'logIn',
  authenticate: 'logIn',
  prefix: 'path',
  pairOptions: 'describeUser',
  claimsOnRefresh: 'describeUser',
  clientIp: 'new TokenManager({ clientIp })',
  readIp: 'new TokenManager({ clientIp })',
  formatError: 'new TokenManager({ formatError })',
}
/** Throws `TypeError` for options that no routes can be made with. */
export function assertRouteOptions<Input extends object, Known, Data extends object>(
  options: SessionRoutesOptions<Input, Known, Data>,
): void {
  const parsed = parseOptions('createSessionRoutes()', options, ROUTE_OPTIONS, MEANT_OPTIONS)
  const { remember, maxSessions, whenFull } = parsed
  if (remember !== undefined) parseOptions('remember', remember, LIFETIMES)
  // Alone it would limit nothing, without a word.
  if (whenFull !== undefined && maxSessions === undefined) throw new TypeError('whenFull needs maxSessions')
}

function isRateLimit(value: unknown): boolean {
  const { before, after } = (value ?? {}) as Partial<LoginRateLimit>
  return typeof before === 'function' && (after === undefined || typeof after === 'function')
}

/** Throws `ConfigurationError` for a manager whose sessions these routes could not serve. */
export function assertManager(
  tokens: { readonly config: TokenConfig; readonly keys: { readonly current: string | null } },
  path: string,
): void {
  if (!tokenConfig.isValid(tokens?.config)) {
    throw new TypeError('createSessionRoutes() takes a TokenManager and options')
  }
  if (!internalsOf(tokens).keepsSessions) {
    throw new ConfigurationError(
      'createSessionRoutes needs a store that keeps sessions: new TokenManager({ config, store })',
    )
  }
  if (tokens.keys.current === null) {
    throw new ConfigurationError(
      'createSessionRoutes needs a manager that creates tokens: set JWT_PRIVATE_KEY',
    )
  }
  for (const type of ['access', 'refresh'] as const) {
    const field = type === 'access' ? 'JWT_ACCESS_COOKIE_PATH' : 'JWT_REFRESH_COOKIE_PATH'
    if (!tokens.config.hasLocation('cookies', type) || coversPath(tokens.config[field], `${path}/`)) continue
    throw new ConfigurationError(
      `${field} '${tokens.config[field]}' does not cover the session routes at ${path}: browsers would not send the cookie`,
    )
  }
}

/** Throws `ConfigurationError` unless browsers can renew access tokens: in a cookie, by a refresh token in another. */
export function assertBindable(config: TokenConfig): void {
  if ((['access', 'refresh'] as const).some((type) => !config.hasLocation('cookies', type))) {
    throw new ConfigurationError(
      "deviceBound needs both tokens in cookies: add 'cookies' to JWT_TOKEN_LOCATION",
    )
  }
  if (config.JWT_ACCESS_TOKEN_EXPIRES === false) {
    throw new ConfigurationError('deviceBound needs access tokens that expire: set JWT_ACCESS_TOKEN_EXPIRES')
  }
}
