import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import * as errors from '../packages/tokenlib/src/errors.js'
import { isOutage } from '../packages/tokenlib/src/errors.js'
import {
  isTokenError,
  toErrorResponse,
  TokenError,
  type TokenErrorCode,
} from '../packages/tokenlib/src/index.js'
import { createManager, SECRET, withBearer } from './helpers/manager.js'
import { internalsOf } from '../packages/tokenlib/src/sessions/internals.js'

type ErrorClass = new (...args: never[]) => Error

const classes = Object.entries(errors as Record<string, unknown>).filter(
  (entry): entry is [string, ErrorClass] => /^[A-Z].*Error$/.test(entry[0]),
)

const ARGUMENTS: Record<string, unknown[]> = {
  TokenTypeError: ['access', 'refresh'],
  RevokedTokenError: [{}, {}],
  ClaimsValidationError: [[]],
  InsufficientScopeError: [[], []],
  SessionLimitError: [5],
  SessionDataError: ['SESSION_DATA_INVALID', 'data must be an object'],
}

// What the application did wrong, not a request.
const OTHERS = ['ConfigurationError', 'SessionDataError']

test.each(classes.filter(([name]) => name !== 'TokenError'))(
  '%s has a name, a code, and no status that a framework would answer with by itself',
  (name, ErrorType) => {
    const error = new ErrorType(...((ARGUMENTS[name] ?? []) as never[]))
    expect(error.name).toBe(name)
    expect((error as { code?: unknown }).code).toMatch(/^[A-Z_]+$/)
    for (const member of ['status', 'statusCode', 'expose', 'headers', 'getResponse', 'toResponse'])
      expect(member in error, member).toBe(false)
    expect(isTokenError(error)).toBe(!OTHERS.includes(name))
    expect(error instanceof TokenError).toBe(!OTHERS.includes(name))
    expect(isOutage(error)).toBe(isTokenError(error) && toErrorResponse(error).status === 503)
  },
)

test('the hierarchy is the documented one', () => {
  const parent = (name: string) =>
    (Object.getPrototypeOf((errors as Record<string, unknown>)[name]) as { name: string }).name
  expect(Object.fromEntries(classes.map(([name]) => [name, parent(name)]))).toEqual({
    TokenError: 'Error',
    MissingTokenError: 'TokenError',
    MissingCsrfTokenError: 'MissingTokenError',
    TokenDecodeError: 'TokenError',
    TokenSignatureError: 'TokenDecodeError',
    TokenExpiredError: 'TokenDecodeError',
    TokenNotYetValidError: 'TokenDecodeError',
    TokenAudienceError: 'TokenDecodeError',
    TokenIssuerError: 'TokenDecodeError',
    ClaimsValidationError: 'TokenDecodeError',
    TokenTypeError: 'TokenError',
    AccessTokenRequiredError: 'TokenTypeError',
    RefreshTokenRequiredError: 'TokenTypeError',
    FreshTokenRequiredError: 'TokenError',
    InsufficientScopeError: 'TokenError',
    CsrfError: 'TokenError',
    ProofRequiredError: 'TokenError',
    InvalidProofError: 'TokenError',
    ReusedProofError: 'TokenError',
    ProofNonceRequiredError: 'TokenError',
    RevokedTokenError: 'TokenError',
    RefreshTokenReusedError: 'RevokedTokenError',
    RefreshSupersededError: 'TokenError',
    SessionMismatchError: 'TokenError',
    SessionLimitError: 'TokenError',
    RevocationUnavailableError: 'TokenError',
    KeysUnavailableError: 'TokenError',
    SubjectNotFoundError: 'TokenError',
    SessionDataError: 'TypeError',
    ConfigurationError: 'Error',
  })
})

test('an error of another copy of this package is one of ours too', () => {
  const foreign = Object.assign(new Error('x'), { isTokenError: true, code: 'TOKEN_REVOKED' })
  expect(isTokenError(foreign)).toBe(true)
  for (const value of [null, undefined, {}, { isTokenError: true }, new Error('x'), 'TokenError'])
    expect(isTokenError(value)).toBe(false)
})

test('no error shows a token, a secret or a CSRF value, whatever goes wrong', async () => {
  const { tokens, clock } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies', 'query', 'json'] })
  const good = tokens.createAccessToken({ uid: 'u' }, { expiresIn: 60 })
  const csrf = internalsOf(tokens).verifyWithoutRevocation(good).csrf as string
  const foreign = createManager({ JWT_SECRET_KEY: `${SECRET}!` }).tokens.createAccessToken({ uid: 'u' })
  const cookie = (headers: Record<string, string>) =>
    new Request('http://x/', {
      method: 'POST',
      headers: { cookie: `access_token_cookie=${good}`, ...headers },
    })
  const wrongCsrf = 'wrong-csrf-value-0123456789'

  const attempts: [TokenErrorCode, () => Promise<unknown>][] = [
    ['TOKEN_SIGNATURE_INVALID', () => tokens.verify(foreign)],
    ['TOKEN_INVALID', () => tokens.verify(`${good}=`)],
    [
      'TOKEN_INVALID',
      () =>
        tokens.accessTokenRequired(
          new Request('http://x/', { headers: { authorization: `Bearer ${good}, Bearer ${foreign}` } }),
        ),
    ],
    [
      'TOKEN_INVALID',
      () => tokens.accessTokenRequired(new Request(`http://x/?token=${good}&token=${foreign}`)),
    ],
    [
      'TOKEN_INVALID',
      () =>
        tokens.accessTokenRequired(
          new Request('http://x/', {
            headers: { cookie: `access_token_cookie=${good}; access_token_cookie=${foreign}` },
          }),
        ),
    ],
    ['REFRESH_TOKEN_REQUIRED', () => tokens.refreshTokenRequired(withBearer(good))],
    ['CSRF_MISSING', () => tokens.accessTokenRequired(cookie({}))],
    ['CSRF_MISMATCH', () => tokens.accessTokenRequired(cookie({ 'x-csrf-token': wrongCsrf }))],
    [
      'TOKEN_REVOKED',
      () => {
        tokens.setTokenBlocklist(() => true)
        return tokens.verify(good)
      },
    ],
    [
      'REVOCATION_UNAVAILABLE',
      () => {
        tokens.setTokenBlocklist((() => undefined) as never)
        return tokens.verify(good)
      },
    ],
    [
      'TOKEN_EXPIRED',
      () => {
        clock.seconds += 1000
        return tokens.verify(good)
      },
    ],
  ]
  const secrets = [good, foreign, SECRET, csrf, wrongCsrf].flatMap((secret) => windows(secret))
  // Every token of one key starts alike; what all share is no secret.
  const shared = new Set(windows(good.slice(0, good.indexOf('.') + 1)))
  for (const [code, attempt] of attempts) {
    const error = await attempt().then(
      () => null,
      (error: unknown) => error,
    )
    expect(error).toMatchObject({ code })
    const shown = [inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error), String(error)].join(
      '\n',
    )
    expect(secrets.filter((secret) => !shared.has(secret) && shown.includes(secret))).toEqual([])
  }
})

function windows(secret: string): string[] {
  return Array.from({ length: secret.length - 7 }, (_, at) => secret.slice(at, at + 8))
}
