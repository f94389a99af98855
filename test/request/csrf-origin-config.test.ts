import { describe, expect, test } from 'vitest'
import {
  ConfigurationError,
  TokenConfig,
  type TokenConfigOptions,
} from '../../packages/tokenlib/src/index.js'
import { isOrigin } from '../../packages/tokenlib/src/http/csrf.js'
import { createManager } from '../helpers/manager.js'
import { createRequest, csrfOf } from '../helpers/requests.js'

const APP = 'https://app.example'
const PARTNER = 'https://partner.example:8443'
const COOKIES = { JWT_TOKEN_LOCATION: 'cookies' } as const satisfies TokenConfigOptions

/** What a manager with these origins says to a POST from `origin` that has everything else. */
function post(origins: string | readonly string[], origin: string) {
  const { tokens } = createManager({ ...COOKIES, JWT_CSRF_ORIGINS: origins })
  const token = tokens.createAccessToken({ uid: 'ada' })
  const headers = { origin, 'x-csrf-token': csrfOf(token) }
  return tokens.accessTokenRequired(
    createRequest({ method: 'POST', cookies: { access_token_cookie: token }, headers }),
  )
}

describe('JWT_CSRF_ORIGINS: configuration', () => {
  const WRONG: [what: string, ...origins: string[]][] = [
    ['empty', '', ' ', 'https://'],
    ['a wildcard', '*', 'https://*', 'https://*.example'],
    ['the origin of sandboxed pages, which is everybody’s', 'null'],
    ['no scheme', 'app.example', '//app.example', 'https:app.example'],
    ['a scheme that is no page’s', 'file://', 'ws://app.example', 'wss://app.example', 'ftp://app.example'],
    ['another kind of URL', 'data:,', 'blob:https://app.example'],
    ['a trailing slash', 'https://app.example/', 'https://app.example//'],
    ['more than an origin', 'https://app.example/a', 'https://app.example?a', 'https://app.example#a'],
    ['user information', 'https://u@app.example', 'https://u:p@app.example'],
    ['upper case', 'https://APP.example', 'HTTPS://app.example'],
    ['a spelling that browsers normalise', 'https://bücher.example', 'https://127.1', 'https://[0:0::1]'],
    ['a port that browsers leave out', 'https://app.example:443', 'http://app.example:80'],
    ['no port', 'https://app.example:', 'https://app.example:99999'],
    ['white space', ' https://app.example', 'https://app.example\n', 'https://app .example'],
    ['two in one', 'https://a.example,https://b.example', 'https://a.example https://b.example'],
  ]
  test.each(WRONG)('not what a browser sends: %s', (_, ...origins) => {
    for (const origin of origins) {
      for (const given of [origin, [origin], [APP, origin]])
        expect(() => new TokenConfig({ JWT_CSRF_ORIGINS: given }), origin).toThrow(ConfigurationError)
      expect(() => new TokenConfig({ JWT_CSRF_ORIGINS: origin })).toThrow(
        /^JWT_CSRF_ORIGINS must be .*https:/,
      )
    }
  })

  test.each([[[]], [7], [true], [{}], [[APP, 7]]])('%j is no list of origins', (value) => {
    expect(() => new TokenConfig({ JWT_CSRF_ORIGINS: value as unknown as string })).toThrow(
      ConfigurationError,
    )
  })

  test.each([
    'https://app.example',
    'https://app.example:8443',
    'https://app.example.',
    'https://xn--bcher-kva.example',
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:3000',
  ])('%j is one, alone or in a list', async (origin) => {
    for (const given of [origin, [APP, origin]]) {
      await expect(post(given, origin)).resolves.toMatchObject({ sub: 'ada' })
      await expect(post(given, PARTNER)).rejects.toMatchObject({ code: 'CSRF_MISMATCH' })
    }
  })

  test('from the environment: one, a comma list or a JSON list', () => {
    const read = (text: string) => TokenConfig.fromEnv({}, { JWT_CSRF_ORIGINS: text }).JWT_CSRF_ORIGINS
    expect(read(APP)).toBe(APP)
    expect(read(` ${APP} , ${PARTNER}`)).toEqual([APP, PARTNER])
    expect(read(JSON.stringify([APP, PARTNER]))).toEqual([APP, PARTNER])
    for (const text of ['', '*', `${APP},`, `${APP}/`]) expect(() => read(text)).toThrow(ConfigurationError)
  })

  test('without CSRF protection it would be forgotten, so it is an error', () => {
    const off = { JWT_COOKIE_CSRF_PROTECT: false } as const
    expect(() => createManager({ ...off, JWT_CSRF_ORIGINS: [APP] })).toThrow(
      /JWT_CSRF_ORIGINS.*JWT_COOKIE_CSRF_PROTECT/,
    )
    expect(() => createManager({ ...off, JWT_CSRF_ORIGINS: null })).not.toThrow()
  })

  test('a list that is changed afterwards changes nothing', async () => {
    const list = [APP]
    const { tokens } = createManager({ ...COOKIES, JWT_CSRF_ORIGINS: list })
    list[0] = 'https://evil.example'
    expect(tokens.config.JWT_CSRF_ORIGINS).toEqual([APP])
    expect(() => Object.assign(tokens.config.JWT_CSRF_ORIGINS ?? [], list)).toThrow(TypeError)
  })
})

test.each([Symbol('s'), 7, null, undefined, [APP], { toString: () => APP }])(
  'what is not a text is not an origin (%#)',
  (value) => {
    expect(isOrigin(value)).toBe(false)
  },
)
