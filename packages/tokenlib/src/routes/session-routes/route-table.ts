import { object, type OpenApiParameter, type OpenApiSchema, text } from '../openapi.js'
import { MAX_LABEL_LENGTH } from '../../revocation/session-data.js'
import type { TokenType } from '../../tokens/payload.js'

const seconds: OpenApiSchema = { type: 'integer', minimum: 0, nullable: true }
const moment: OpenApiSchema = { type: 'string', format: 'date-time' }

// `SessionAnswer`, as it is sent.
const SESSION: OpenApiSchema = object({
  id: { ...text, nullable: true },
  sub: text,
  claims: { type: 'object', additionalProperties: true },
  scopes: { type: 'array', items: text },
  fresh: { type: 'boolean' },
  accessExpiresIn: seconds,
  expiresIn: seconds,
})

// The answer with new tokens: without those in cookies, and without a refresh token if the one sent stays valid.
const TOKENS: OpenApiSchema = object(
  { session: SESSION, accessToken: text, refreshToken: text, tokenType: text },
  ['tokenType', 'accessToken', 'refreshToken'],
)

const LABEL: OpenApiSchema = { ...text, minLength: 1, maxLength: MAX_LABEL_LENGTH }

/** What a client sends to name the device of a session; `null` removes the name. */
export const NEW_LABEL: OpenApiSchema = object({ label: { ...LABEL, nullable: true } })

// A session in the list of a user.
const LISTED: OpenApiSchema = object({
  id: text,
  createdAt: moment,
  lastUsedAt: moment,
  expiresAt: { ...moment, nullable: true },
  ip: { ...text, nullable: true },
  userAgent: { ...text, nullable: true },
  data: { type: 'object', properties: { label: LABEL }, additionalProperties: true, nullable: true },
  isCurrent: { type: 'boolean' },
})

/** What a client sends to log in; the application decides on the other members. */
export const CREDENTIALS: OpenApiSchema = {
  ...object({ remember: { type: 'boolean' }, transport: { type: 'string', pattern: '^(cookies|bearer)$' } }, [
    'remember',
    'transport',
  ]),
  additionalProperties: true,
}

/** A route, and what a document says about it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly summary: string
  /** The token that it needs; `any` means an optional one, `device` a refresh token in a cookie, sent by the browser itself. */
  readonly token?: TokenType | 'any' | 'device'
  readonly takesCredentials?: true
  /** The schema of another body that it takes. */
  readonly body?: OpenApiSchema
  readonly parameters?: readonly OpenApiParameter[]
  /** The body of a 200; without one, the answer is 204. */
  readonly answer?: OpenApiSchema
  /** Other refusals, in addition to those that follow from the above. */
  readonly refusals?: Readonly<Record<number, string>>
}

/** The names of the routes. */
export type RouteName =
  | 'login'
  | 'refresh'
  | 'logout'
  | 'logoutEverywhere'
  | 'session'
  | 'sessions'
  | 'endSession'
  | 'renameSession'
  | 'endOtherSessions'
  | 'stepUp'

const ID: OpenApiParameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The id of the session',
  schema: text,
}

/** Every route: where it is below their path, and what a document says about it. */
export const ROUTES: Readonly<Record<RouteName, Route>> = {
  login: {
    method: 'POST',
    path: 'login',
    summary: 'Log in',
    takesCredentials: true,
    answer: TOKENS,
    refusals: {
      401: 'The credentials are wrong, or the login comes from another origin',
      403: 'The user has too many sessions',
    },
  },
  refresh: {
    method: 'POST',
    path: 'refresh',
    summary: 'Renew the tokens of the session',
    token: 'refresh',
    answer: TOKENS,
  },
  logout: { method: 'POST', path: 'logout', summary: 'Log out', token: 'any' },
  logoutEverywhere: {
    method: 'POST',
    path: 'logout-everywhere',
    summary: 'End all sessions of the user',
    token: 'access',
  },
  session: {
    method: 'GET',
    path: 'session',
    summary: 'The current session',
    token: 'access',
    answer: object({ session: SESSION }),
  },
  sessions: {
    method: 'GET',
    path: 'sessions',
    summary: 'The sessions of the user, newest first',
    token: 'access',
    parameters: [
      {
        name: 'limit',
        in: 'query',
        required: false,
        description: 'How many sessions at most',
        schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
      },
      {
        name: 'before',
        in: 'query',
        required: false,
        description: 'The id of the last session of the page before',
        schema: text,
      },
    ],
    answer: object({ sessions: { type: 'array', items: LISTED }, next: { ...text, nullable: true } }),
    refusals: { 400: 'limit or before is invalid' },
  },
  endSession: {
    method: 'DELETE',
    path: 'sessions/{id}',
    summary: 'End a session of the user',
    token: 'access',
    parameters: [ID],
    refusals: { 404: 'The user has no such session' },
  },
  renameSession: {
    method: 'PATCH',
    path: 'sessions/{id}',
    summary: 'Name the device of a session of the user',
    token: 'access',
    body: NEW_LABEL,
    parameters: [ID],
    refusals: { 404: 'The user has no such session' },
  },
  endOtherSessions: {
    method: 'DELETE',
    path: 'sessions',
    summary: 'End the other sessions of the user',
    token: 'access',
    answer: object({ ended: { type: 'integer', minimum: 0 } }),
    refusals: { 404: 'The token belongs to no session' },
  },
  stepUp: {
    method: 'POST',
    path: 'step-up',
    summary: 'Confirm the credentials, for a fresh access token',
    token: 'refresh',
    takesCredentials: true,
    answer: TOKENS,
  },
}

/** The names of the routes with the option `deviceBound`. */
export type DeviceRouteName = 'deviceRegister' | 'deviceRefresh'

// Session instructions, as the draft calls them.
const INSTRUCTIONS: OpenApiSchema = object({
  session_identifier: text,
  refresh_url: text,
  scope: object({ include_site: { type: 'boolean' } }),
  credentials: { type: 'array', items: object({ type: text, name: text, attributes: text }) },
})

/** The routes with the option `deviceBound`. */
export const DEVICE_ROUTES: Readonly<Record<DeviceRouteName, Route>> = {
  deviceRegister: {
    method: 'POST',
    path: 'device/register',
    summary: 'Bind the session to a key of the browser',
    token: 'device',
    answer: INSTRUCTIONS,
  },
  deviceRefresh: {
    method: 'POST',
    path: 'device/refresh',
    summary: 'Renew the tokens of a session that is bound to a key of the browser',
    token: 'device',
    answer: INSTRUCTIONS,
    refusals: { 403: 'The browser must sign the challenge in Secure-Session-Challenge' },
  },
}
