import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'
import { createRequest, csrfOf, receive, toHttpText } from '../helpers/requests.js'

const APP = 'https://app.example'
const PARTNER = 'https://partner.example:8443'
const OPTIONS = {
  JWT_TOKEN_LOCATION: ['cookies', 'headers'],
  JWT_CSRF_ORIGINS: [APP, PARTNER],
} as const satisfies TokenConfigOptions
const { tokens } = createManager(OPTIONS)
const ACCESS = tokens.createAccessToken({ uid: 'ada' })
const CSRF = csrfOf(ACCESS)
const REFUSED = { name: 'CsrfError', code: 'CSRF_MISMATCH' }

/** The two headers as a request has them; `null` for one that is missing. */
const comingFrom = (site: string | null, origin: string | null): Record<string, string> => ({
  ...(site !== null && { 'sec-fetch-site': site }),
  ...(origin !== null && { origin }),
})

/** A request with the cookie and, unless told otherwise, its CSRF value. */
const send = (headers: Record<string, string>, method = 'POST', csrf: string | null = CSRF): Request =>
  createRequest({
    method,
    cookies: { access_token_cookie: ACCESS },
    headers: { ...(csrf !== null && { 'x-csrf-token': csrf }), ...headers },
  })

// Fetch Metadata: same-origin, same-site, cross-site and none are all there are; the others only a program sends.
const SITES = [
  null,
  'same-origin',
  'same-site',
  'cross-site',
  'none',
  '',
  'Same-Origin',
  'same-origin, same-origin',
]
const LISTED = [APP, PARTNER]
const UNLISTED = [
  null,
  'null',
  '',
  '*',
  'https://evil.example',
  'http://app.example',
  'https://app.example:444',
  'https://app.example:443',
  'https://partner.example',
  'https://sub.app.example',
  'https://app.example.evil.example',
  'https://app.example/',
  'https://APP.example',
  'HTTPS://app.example',
  'app.example',
  `${APP}, ${APP}`,
  `${APP}, https://evil.example`,
  `${APP} https://evil.example`,
  `null, ${APP}`,
]
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE']

describe('JWT_CSRF_ORIGINS: a cookie token on a method that changes something', () => {
  test.each(METHODS)('a %s passes from a listed origin, and from no other', async (method) => {
    const foreign = comingFrom('cross-site', 'https://evil.example')
    await expect(tokens.accessTokenRequired(send(foreign, method))).rejects.toMatchObject(REFUSED)
    for (const site of SITES) {
      for (const origin of LISTED)
        await expect(
          tokens.accessTokenRequired(send(comingFrom(site, origin), method)),
        ).resolves.toMatchObject({ sub: 'ada' })
    }
  })

  test.each(UNLISTED)(
    'a request with Origin %j passes when the browser calls it same-origin, and never else',
    async (origin) => {
      for (const site of SITES) {
        const checked = tokens.accessTokenRequired(send(comingFrom(site, origin)))
        if (site === 'same-origin') await expect(checked).resolves.toMatchObject({ sub: 'ada' })
        else await expect(checked, String(site)).rejects.toMatchObject(REFUSED)
      }
    },
  )

  test('white space around a value is no part of it (RFC 9110 §5.5)', async () => {
    await expect(tokens.accessTokenRequired(send({ origin: ` ${APP}\t` }))).resolves.toMatchObject({
      sub: 'ada',
    })
  })

  test('a request without a method counts as one that changes something', async () => {
    const cookie = `access_token_cookie=${ACCESS}`
    const unknown = { headers: { cookie, 'x-csrf-token': CSRF } }
    await expect(tokens.accessTokenRequired(unknown)).rejects.toMatchObject(REFUSED)
    const known = { headers: { ...unknown.headers, Origin: APP } }
    await expect(tokens.accessTokenRequired(known)).resolves.toMatchObject({ sub: 'ada' })
  })

  test('it is required in addition to the CSRF value, not instead of it', async () => {
    const own = comingFrom('same-origin', APP)
    await expect(tokens.accessTokenRequired(send(own, 'POST', null))).rejects.toMatchObject({
      code: 'CSRF_MISSING',
    })
    await expect(tokens.accessTokenRequired(send(own, 'POST', 'wrong'))).rejects.toMatchObject({
      code: 'CSRF_MISMATCH',
    })
  })

  test('it is looked at before the CSRF value', async () => {
    const foreign = comingFrom('cross-site', 'https://evil.example')
    for (const csrf of [null, '', 'wrong'])
      await expect(tokens.accessTokenRequired(send(foreign, 'POST', csrf))).rejects.toMatchObject(REFUSED)
  })

  test('it is looked at after the token: a bad one is reported as such', async () => {
    const request = createRequest({ method: 'POST', cookies: { access_token_cookie: `${ACCESS}x` } })
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({
      code: 'TOKEN_SIGNATURE_INVALID',
    })
  })

  test('refreshing asks for it, too', async () => {
    const refresh = tokens.createRefreshToken({ uid: 'ada' })
    const request = (headers: Record<string, string>): Request =>
      createRequest({
        method: 'POST',
        cookies: { refresh_token_cookie: refresh },
        headers: { 'x-csrf-token': csrfOf(refresh), ...headers },
      })
    await expect(tokens.refreshTokenRequired(request(comingFrom(null, null)))).rejects.toMatchObject(REFUSED)
    await expect(tokens.refreshTokenRequired(request({ origin: APP }))).resolves.toMatchObject({ sub: 'ada' })
  })

  test('an optional route refuses as well; without a cookie it is anonymous', async () => {
    await expect(tokens.accessTokenOptional(send({}))).rejects.toMatchObject(REFUSED)
    await expect(tokens.accessTokenOptional(createRequest({ method: 'POST' }))).resolves.toBeNull()
  })
})

describe('JWT_CSRF_ORIGINS: headers that came twice', () => {
  const post = (...headers: readonly (readonly [name: string, value: string])[]) => {
    const credentials = [
      ['Cookie', `access_token_cookie=${ACCESS}`],
      ['X-CSRF-Token', CSRF],
    ] as const
    const text = toHttpText('POST /', [...credentials, ...headers])
    return receive(text, (request) => tokens.accessTokenRequired(request))
  }

  test('over a Node server one of each passes, and two do not, whichever is first', async () => {
    await expect(post(['Sec-Fetch-Site', 'same-origin'])).resolves.toMatchObject({ sub: 'ada' })
    await expect(post(['Origin', APP])).resolves.toMatchObject({ sub: 'ada' })
    const twice: [string, string, string][] = [
      ['Sec-Fetch-Site', 'same-origin', 'cross-site'],
      ['Sec-Fetch-Site', 'cross-site', 'same-origin'],
      ['Sec-Fetch-Site', 'same-origin', 'same-origin'],
      ['Origin', APP, 'https://evil.example'],
      ['Origin', 'https://evil.example', APP],
      ['Origin', APP, APP],
      ['Origin', APP, PARTNER],
    ]
    for (const [name, first, second] of twice)
      await expect(post([name, first], [name.toLowerCase(), second])).rejects.toMatchObject(REFUSED)
  })

  test('in a plain object, as a list or under two spellings', async () => {
    const base = { cookie: `access_token_cookie=${ACCESS}`, 'x-csrf-token': CSRF }
    for (const headers of [
      { origin: [APP, 'https://evil.example'] },
      { origin: APP, Origin: 'https://evil.example' },
      { 'sec-fetch-site': ['same-origin', 'cross-site'] },
      { 'sec-fetch-site': 'same-origin', 'Sec-Fetch-Site': 'cross-site' },
    ])
      await expect(
        tokens.accessTokenRequired({ method: 'POST', headers: { ...base, ...headers } }),
      ).rejects.toMatchObject(REFUSED)
  })
})

describe('JWT_CSRF_ORIGINS: where it is not asked for', () => {
  const FOREIGN = comingFrom('cross-site', 'https://evil.example')

  test.each(['GET', 'HEAD', 'OPTIONS'])('a %s passes from anywhere', async (method) => {
    for (const headers of [FOREIGN, {}])
      await expect(tokens.accessTokenRequired(send(headers, method, null))).resolves.toMatchObject({
        sub: 'ada',
      })
  })

  test.each(METHODS)('a %s with the token in a header passes from anywhere', async (method) => {
    const headers = { authorization: `Bearer ${ACCESS}`, ...FOREIGN }
    await expect(tokens.accessTokenRequired(createRequest({ method, headers }))).resolves.toMatchObject({
      sub: 'ada',
    })
  })

  test('JWT_CSRF_METHODS decides which methods ask', async () => {
    const { tokens } = createManager({ ...OPTIONS, JWT_CSRF_METHODS: ['GET'] })
    await expect(tokens.accessTokenRequired(send(FOREIGN, 'GET'))).rejects.toMatchObject(REFUSED)
    await expect(tokens.accessTokenRequired(send(FOREIGN, 'POST'))).resolves.toMatchObject({ sub: 'ada' })
  })

  test('a route that leaves the CSRF check out leaves this out, too', async () => {
    await expect(tokens.require({ csrf: false })(send(FOREIGN))).resolves.toMatchObject({ sub: 'ada' })
  })

  test('by default, null: the headers mean nothing', async () => {
    for (const options of [{}, { JWT_CSRF_ORIGINS: null }]) {
      const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'cookies', ...options })
      expect(tokens.config.JWT_CSRF_ORIGINS).toBeNull()
      await expect(tokens.accessTokenRequired(send(FOREIGN))).resolves.toMatchObject({ sub: 'ada' })
      await expect(tokens.accessTokenRequired(send(FOREIGN, 'POST', null))).rejects.toMatchObject({
        code: 'CSRF_MISSING',
      })
    }
  })
})
