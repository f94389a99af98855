import { encode } from '@auth/core/jwt'
import { exchangeContract, keepCookies, type OldClient, toCookieHeader } from '../shared/exchange-contract.js'
import { start as startAfter } from './after.js'
import { AUTH_SECRET, mailbox, start as startBefore, type Strategy } from './before.js'

const COOKIE = 'authjs.session-token'

async function logIn(url: string, name: 'ada' | 'grace', strategy: Strategy): Promise<OldClient> {
  const page = await fetch(`${url}/auth/csrf`)
  const jar = keepCookies(page)
  const { csrfToken } = (await page.json()) as { readonly csrfToken: string }
  const post = (path: string, form: Record<string, string>) =>
    fetch(`${url}/auth/${path}`, {
      method: 'POST',
      headers: { cookie: toCookieHeader(jar) },
      body: new URLSearchParams({ csrfToken, ...form }),
      redirect: 'manual',
    })
  if (strategy === 'jwt') {
    keepCookies(await post('callback/credentials', { name, password: 'correct horse' }), jar)
  } else {
    const email = `${name}@shop.example`
    keepCookies(await post('signin/email', { email }), jar)
    const headers = { cookie: toCookieHeader(jar) }
    keepCookies(await fetch(mailbox.get(email) ?? '', { headers, redirect: 'manual' }), jar)
  }
  return { uid: name === 'ada' ? '7' : '8', headers: { cookie: `${COOKIE}=${jar.get(COOKIE)}` } }
}

const toHeaders = (token: string) => ({ cookie: `${COOKIE}=${token}` })
const now = () => Math.floor(Date.now() / 1000)

for (const strategy of ['jwt', 'database'] as const) {
  exchangeContract(`Auth.js with the strategy "${strategy}"`, {
    startBefore: () => startBefore(0, strategy),
    logIn: (url, name) => logIn(url, name, strategy),
    startAfter: (settings) => startAfter(settings, strategy),
    exchange: ['GET', '/me'],
    async forged({ headers }) {
      const old = (headers['cookie'] ?? '').slice(COOKIE.length + 1)
      const make = async (secret: string, salt: string, claims: object) =>
        toHeaders(await encode({ secret, salt, token: { sub: '7', ...claims } }))
      return {
        'changed in the middle': toHeaders(
          `${old.slice(0, -20)}${old.at(-20) === 'A' ? 'B' : 'A'}${old.slice(-19)}`,
        ),
        'cut off': toHeaders(old.slice(0, -1)),
        'of another secret': await make('another-secret-of-more-than-32-bytes', COOKIE, {}),
        'of another cookie': await make(AUTH_SECRET, 'authjs.csrf-token', {}),
        'without a user': await make(AUTH_SECRET, COOKIE, { sub: undefined }),
        expired: toHeaders(
          await encode({ secret: AUTH_SECRET, salt: COOKIE, maxAge: -60, token: { sub: '7', exp: now() } }),
        ),
      }
    },
  })
}
