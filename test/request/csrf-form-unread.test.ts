import { expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { CsrfError } from '../../packages/tokenlib/src/errors.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { createRequest, csrfOf } from '../helpers/requests.js'

const FORMS = {
  JWT_TOKEN_LOCATION: 'cookies',
  JWT_CSRF_CHECK_FORM: true,
} as const satisfies TokenConfigOptions
const { tokens } = createManager(FORMS)
const ACCESS = tokens.createAccessToken({ uid: 'ada' })
const REFRESH = tokens.createRefreshToken({ uid: 'ada' })
const CSRF = csrfOf(ACCESS)

/** A view of a POST with one cookie and a form, and how often its body was asked for. */
function createView(token: string) {
  const headers: Record<string, string> = {
    cookie: `access_token_cookie=${token}`,
    'content-type': 'application/x-www-form-urlencoded',
  }
  const view = {
    method: 'POST',
    url: '/',
    reads: 0,
    header: (name: string) => headers[name.toLowerCase()] ?? null,
    body: async () => {
      view.reads++
      return { csrf_token: CSRF }
    },
  }
  return view
}

const { tokens: strangers } = createManager({ ...FORMS, JWT_SECRET_KEY: 's'.repeat(9) + SECRET })
const forged = strangers.createAccessToken({ uid: 'ada' })

test.each([
  ['of somebody else', forged, 'TOKEN_SIGNATURE_INVALID'],
  ['without a signature', ACCESS.replace(/[^.]+$/, ''), 'TOKEN_INVALID'],
  ['that is no token', 'x', 'TOKEN_INVALID'],
  ['of the other type', REFRESH, 'ACCESS_TOKEN_REQUIRED'],
])('the body next to a cookie %s is left alone', async (_, token, code) => {
  const view = createView(token)
  await expect(tokens.accessTokenRequired(view)).rejects.toMatchObject({ code })
  await expect(tokens.accessTokenOptional(view)).rejects.toMatchObject({ code })
  expect(view.reads).toBe(0)
})

test('nor is it read where the request comes from another origin', async () => {
  const { tokens } = createManager({ ...FORMS, JWT_CSRF_ORIGINS: ['https://app.example'] })
  const view = createView(ACCESS)
  await expect(tokens.accessTokenRequired(view)).rejects.toMatchObject({ code: 'CSRF_MISMATCH' })
  expect(view.reads).toBe(0)
})

test('a genuine one has it read once, and what follows is checked after it', async () => {
  const view = createView(ACCESS)
  await expect(tokens.accessTokenRequired(view)).resolves.toMatchObject({ sub: 'ada' })
  expect(view.reads).toBe(1)
  await expect(tokens.require({ scopes: ['admin'] })(createView(ACCESS))).rejects.toMatchObject({
    code: 'INSUFFICIENT_SCOPE',
  })
  const { tokens: checked } = createManager(FORMS)
  checked.setCallbackTokenBlocklist(() => true)
  await expect(checked.accessTokenRequired(createView(ACCESS))).rejects.toMatchObject({
    code: 'TOKEN_REVOKED',
  })
})

test('a refusal after the form is reported once', async () => {
  const { tokens } = createManager(FORMS)
  const codes: string[] = []
  tokens.on('rejected', ({ code }) => codes.push(code))
  const view = { ...createView(ACCESS), body: async () => ({ csrf_token: 'wrong' }) }
  await expect(tokens.accessTokenRequired(view)).rejects.toBeInstanceOf(CsrfError)
  expect(codes).toEqual(['CSRF_MISMATCH'])
})

test('getTokenFromRequest does not read it: csrf is the header, or null', async () => {
  const view = createView(ACCESS)
  await expect(tokens.getTokenFromRequest(view)).resolves.toMatchObject({ token: ACCESS, csrf: null })
  expect(view.reads).toBe(0)
  const withHeader = createRequest({
    method: 'POST',
    cookies: { access_token_cookie: ACCESS },
    headers: { 'x-csrf-token': CSRF },
    body: new URLSearchParams({ csrf_token: 'other' }),
  })
  await expect(tokens.getTokenFromRequest(withHeader)).resolves.toMatchObject({ csrf: CSRF })
})
