import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type RequestSource, type TokenError, toErrorResponse } from '../../packages/tokenlib/src/index.js'
import { createManager, SECRET, withBearer } from '../helpers/manager.js'
import { createJsonRequest, createRequest, csrfOf } from '../helpers/requests.js'

const { tokens, clock } = createManager({
  JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'],
  JWT_CSRF_CHECK_FORM: true,
})
const TOKEN = tokens.createAccessToken({ uid: 'ada' }, { scopes: ['read'] })
const OLD = tokens.createAccessToken({ uid: 'ada' }, { expiresIn: 1 })
const FOREIGN = createManager({ JWT_SECRET_KEY: `${SECRET}-of-another` }).tokens.createAccessToken({
  uid: 'ada',
})
const [HEADER = '', CLAIMS = '', SIGNATURE = ''] = TOKEN.split('.')
clock.seconds += 1

const SEGMENTS = [TOKEN, OLD, FOREIGN].flatMap((token) => token.split('.').slice(1))
const HIDDEN = [SECRET, csrfOf(TOKEN), 'planted-csrf', 'planted-token', ...SEGMENTS]

const inCookie = (token: string, headers = {}): Request =>
  createRequest({ method: 'POST', cookies: { access_token_cookie: token }, headers })

const REFUSALS: readonly [what: string, request: RequestSource, policy?: object][] = [
  ['no token', createRequest()],
  ['garbage', withBearer('planted-token')],
  ['garbage in three parts', withBearer('planted-token.planted-token.planted-token')],
  ['another alphabet', withBearer(`${HEADER}.${CLAIMS}=.${SIGNATURE}`)],
  ['a bad signature', withBearer(FOREIGN)],
  ['an expired token', withBearer(OLD)],
  ['two credentials', createRequest({ headers: { authorization: `Bearer ${TOKEN}, Bearer planted-token` } })],
  [
    'two cookies',
    createRequest({ headers: { cookie: `access_token_cookie=${TOKEN}; access_token_cookie=x` } }),
  ],
  ['two parameters', createRequest({ path: `/?token=${TOKEN}&token=planted-token` })],
  ['a body that is wrong', createJsonRequest({ access_token: [TOKEN] })],
  ['a missing CSRF value', inCookie(TOKEN)],
  ['a wrong CSRF value', inCookie(TOKEN, { 'x-csrf-token': 'planted-csrf' })],
  ['a wrong type', withBearer(TOKEN), { type: 'refresh' }],
  ['a stale login', withBearer(TOKEN), { fresh: true }],
  ['a missing scope', withBearer(TOKEN), { scopes: ['write'] }],
]

/** Everything a log or a client could be shown of an error. */
const shownBy = (error: TokenError): string =>
  [
    error.message,
    error.stack,
    String(error),
    JSON.stringify(error),
    JSON.stringify(Object.entries(error)),
    inspect(error, { depth: null, showHidden: true }),
    JSON.stringify(toErrorResponse(error)),
  ].join('\n')

const refuse = async (request: RequestSource, policy: object = {}): Promise<TokenError> => {
  const error: unknown = await tokens
    .require(policy)(request)
    .catch((reason: unknown) => reason)
  return error as TokenError
}

describe('no message, log line or response shows a token, the secret or a CSRF value', () => {
  test.each(REFUSALS)('for %s', async (_, request, policy) => {
    const shown = shownBy(await refuse(request, policy))
    expect(shown).toContain('Error')
    for (const secret of HIDDEN) expect(shown).not.toContain(secret)
  })

  test('for a revoked token, whose claims a handler can still read', async () => {
    const { tokens } = createManager()
    tokens.setCallbackTokenBlocklist(() => true)
    const error = (await tokens
      .accessTokenRequired(withBearer(TOKEN))
      .catch((reason: unknown) => reason)) as TokenError & { payload: { sub: string } }
    expect(error).toMatchObject({ code: 'TOKEN_REVOKED' })
    expect(error.payload.sub).toBe('ada')
    for (const secret of HIDDEN) expect(shownBy(error)).not.toContain(secret)
  })

  test('for a check that cannot answer', async () => {
    const { tokens } = createManager()
    tokens.setCallbackTokenBlocklist(() => 'neither' as unknown as boolean)
    const error: unknown = await tokens
      .accessTokenRequired(withBearer(TOKEN))
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'REVOCATION_UNAVAILABLE' })
    for (const secret of HIDDEN) expect(shownBy(error as TokenError)).not.toContain(secret)
  })
})
