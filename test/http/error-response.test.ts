import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  InsufficientScopeError,
  MissingTokenError,
  RevocationUnavailableError,
  RevokedTokenError,
  TokenConfig,
  type TokenError,
  TokenExpiredError,
  TokenIssuerError,
  toErrorResponse,
} from '../../packages/tokenlib/src/index.js'
import {
  AccessTokenRequiredError,
  ClaimsValidationError,
  CsrfError,
  FreshTokenRequiredError,
  InvalidProofError,
  MissingCsrfTokenError,
  ProofRequiredError,
  RefreshTokenRequiredError,
  SubjectNotFoundError,
  TokenAudienceError,
  TokenDecodeError,
  TokenNotYetValidError,
  TokenSignatureError,
} from '../../packages/tokenlib/src/errors.js'
import { createManager } from '../helpers/manager.js'

type Case = readonly [name: string, error: TokenError, code: string, status: number, attribute: string | null]

// The last column is the `error` attribute: RFC 6750 §3.1, and RFC 9470 §3 for a login that is too old.
const ERRORS: readonly Case[] = [
  ['MissingTokenError', new MissingTokenError(), 'TOKEN_MISSING', 401, null],
  ['MissingCsrfTokenError', new MissingCsrfTokenError(), 'CSRF_MISSING', 401, 'invalid_request'],
  ['CsrfError', new CsrfError(), 'CSRF_MISMATCH', 401, 'invalid_request'],
  ['TokenDecodeError', new TokenDecodeError('Malformed'), 'TOKEN_INVALID', 401, 'invalid_token'],
  ['TokenSignatureError', new TokenSignatureError(), 'TOKEN_SIGNATURE_INVALID', 401, 'invalid_token'],
  ['TokenExpiredError', new TokenExpiredError(1), 'TOKEN_EXPIRED', 401, 'invalid_token'],
  ['TokenNotYetValidError', new TokenNotYetValidError(1), 'TOKEN_NOT_YET_VALID', 401, 'invalid_token'],
  ['TokenAudienceError', new TokenAudienceError(), 'TOKEN_AUDIENCE_INVALID', 401, 'invalid_token'],
  ['TokenIssuerError', new TokenIssuerError(), 'TOKEN_ISSUER_INVALID', 401, 'invalid_token'],
  ['ClaimsValidationError', new ClaimsValidationError([]), 'CLAIMS_INVALID', 401, 'invalid_token'],
  [
    'AccessTokenRequiredError',
    new AccessTokenRequiredError('refresh'),
    'ACCESS_TOKEN_REQUIRED',
    401,
    'invalid_token',
  ],
  [
    'RefreshTokenRequiredError',
    new RefreshTokenRequiredError('access'),
    'REFRESH_TOKEN_REQUIRED',
    401,
    'invalid_token',
  ],
  // RFC 8705 §3: without DPoP, the proof is a client certificate.
  ['InvalidProofError', new InvalidProofError('Wrong certificate'), 'PROOF_INVALID', 401, 'invalid_token'],
  ['ProofRequiredError', new ProofRequiredError(), 'PROOF_REQUIRED', 401, 'invalid_token'],
  ['RevokedTokenError', new RevokedTokenError({}, {}), 'TOKEN_REVOKED', 401, 'invalid_token'],
  ['SubjectNotFoundError', new SubjectNotFoundError(), 'SUBJECT_NOT_FOUND', 401, 'invalid_token'],
  [
    'FreshTokenRequiredError',
    new FreshTokenRequiredError(),
    'FRESH_TOKEN_REQUIRED',
    401,
    'insufficient_user_authentication',
  ],
  [
    'InsufficientScopeError',
    new InsufficientScopeError(['a', 'b:c'], null),
    'INSUFFICIENT_SCOPE',
    403,
    'insufficient_scope',
  ],
]

describe.each(ERRORS)('%s', (name, error, code, status, attribute) => {
  const response = toErrorResponse(error)

  test(`answers ${status} with message, error_type, code and the exact challenge, not to be cached`, () => {
    expect(response.status).toBe(status)
    expect(response.body).toEqual({ message: error.message, error_type: name, code })
    expect(error.code).toBe(code)
    expect(error.message).not.toBe('')
    const scope = error instanceof InsufficientScopeError ? ', scope="a b:c"' : ''
    const reason =
      attribute === null ? '' : `, error="${attribute}", error_description="${error.message}"${scope}`
    expect(response.headers['www-authenticate']).toBe(`Bearer realm="api"${reason}`)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.headers).not.toHaveProperty('retry-after')
  })
})

describe('RevocationUnavailableError', () => {
  const response = toErrorResponse(new RevocationUnavailableError(new Error('ECONNREFUSED 10.0.0.1:6379')))

  test('answers 503 with Retry-After and without a challenge', () => {
    expect(response.status).toBe(503)
    expect(response.headers['retry-after']).toMatch(/^\d+$/)
    expect(response.headers).not.toHaveProperty('www-authenticate')
    expect(response.headers['cache-control']).toBe('no-store')
  })

  test('does not tell the client why', () => {
    expect(response.body).toMatchObject({
      error_type: 'RevocationUnavailableError',
      code: 'REVOCATION_UNAVAILABLE',
    })
    expect(JSON.stringify(response)).not.toMatch(/ECONNREFUSED|6379/)
  })
})

describe('texts of the application', () => {
  test.each([7, null, {}, ['x']])('%j is no message', (message) => {
    const messages = { TOKEN_EXPIRED: message as never }
    expect(() => toErrorResponse(new TokenExpiredError(1), { messages })).toThrow(TypeError)
  })

  test('a message that is undefined leaves the text of the error', () => {
    const messages = { TOKEN_EXPIRED: undefined } as object
    const error = new TokenExpiredError(1)
    expect(toErrorResponse(error, { messages }).body['message']).toBe(error.message)
  })

  test('messages are replaced by code, in the body and in the challenge', () => {
    const messages = { TOKEN_EXPIRED: 'Please log in again' }
    const replaced = toErrorResponse(new TokenExpiredError(1), { messages })
    expect(replaced.body['message']).toBe('Please log in again')
    expect(replaced.headers['www-authenticate']).toContain('error_description="Please log in again"')
    const other = toErrorResponse(new TokenAudienceError(), { messages })
    expect(other.body['message']).toBe(new TokenAudienceError().message)
  })

  test('a message for the 503 is replaced too', () => {
    const messages = { REVOCATION_UNAVAILABLE: 'Back soon' }
    const { body, status } = toErrorResponse(new RevocationUnavailableError(null), { messages })
    expect([status, body['message']]).toEqual([503, 'Back soon'])
  })

  test('JWT_ERROR_MESSAGE_KEY: the body key is configurable', () => {
    const config = new TokenConfig({ JWT_ERROR_MESSAGE_KEY: 'msg' })
    const { body } = toErrorResponse(new CsrfError(), { config })
    expect(body).toEqual({ msg: new CsrfError().message, error_type: 'CsrfError', code: 'CSRF_MISMATCH' })
  })

  test.each(['error_type', 'code'])('JWT_ERROR_MESSAGE_KEY cannot be %s', (key) => {
    expect(() => createManager({ JWT_ERROR_MESSAGE_KEY: key })).toThrow(ConfigurationError)
  })

  test('the challenge names the configured scheme and realm', () => {
    const config = new TokenConfig({ JWT_HEADER_TYPE: 'JWT' })
    const { headers } = toErrorResponse(new MissingTokenError(), { config, realm: 'my app' })
    expect(headers['www-authenticate']).toBe('JWT realm="my app"')
  })

  test('without a scheme the challenge is still one', () => {
    const config = new TokenConfig({ JWT_HEADER_TYPE: '' })
    const { headers } = toErrorResponse(new MissingTokenError(), { config })
    expect(headers['www-authenticate']).toBe('Bearer realm="api"')
  })
})

describe('a challenge is never broken by what it says', () => {
  // RFC 6750 §3: the characters of error_description and scope; RFC 9110 §11.6.1: the challenge.
  const VALUE = String.raw`"[\x20\x21\x23-\x5b\x5d-\x7e]*"`
  const CHALLENGE = new RegExp(`^Bearer [a-z_]+=${VALUE}(?:, [a-z_]+=${VALUE})*$`)
  const NASTY = [
    'say "no"',
    'x\r\nSet-Cookie: a=b',
    'back\\slash',
    'tab\there',
    'nul\0',
    'Zugriff verweigert – ñ',
    '🔑',
    '\u007f',
    '", error="',
    '',
  ]

  test.each(NASTY)('in a message: %j', (text) => {
    const messages = { TOKEN_EXPIRED: text }
    const { headers, body } = toErrorResponse(new TokenExpiredError(1), { messages })
    expect(headers['www-authenticate']).toMatch(CHALLENGE)
    expect(headers['www-authenticate']?.match(/error="/g)).toHaveLength(1)
    expect(() => new Headers(headers)).not.toThrow()
    expect(body['message']).toBe(text)
  })

  test.each(NASTY)('in a scope: %j', (text) => {
    const { headers } = toErrorResponse(new InsufficientScopeError(['read'], [], [text]))
    expect(headers['www-authenticate']).toMatch(CHALLENGE)
    // RFC 6749 §3.3: a scope that the attribute cannot carry is left out, not replaced by another one.
    expect(headers['www-authenticate']).toMatch(/, scope="read"$/)
    const alone = toErrorResponse(new InsufficientScopeError([text], []))
    expect(alone.headers['www-authenticate']).not.toContain('scope=')
  })

  test('every character of a scope-token is kept', () => {
    const scope = "!#$%&'()*+,-./0:;<=>?@AZ[]^_`az{|}~"
    const { headers } = toErrorResponse(new InsufficientScopeError([scope], []))
    expect(headers['www-authenticate']).toContain(`, scope="${scope}"`)
  })
})
