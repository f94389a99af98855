import { expect } from 'vitest'
import {
  ConfigurationError,
  setAccessCookies,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
  unsetCookies,
} from '../../packages/tokenlib/src/index.js'
import { parseSetCookie } from '../helpers/cookie-jar.js'
import { createManager } from '../helpers/manager.js'
import { receive, toHttpText } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { CLAIMS, encode, forge, SECRET } from './harness/forge.js'

const COOKIE = 'access_token'
const GUARD = { algorithm: 'HS256', key: SECRET, cookie: COOKIE } as const
const GOOD = forge()
const PLANTED = forge({ claims: { ...CLAIMS, sub: 'mallory', jti: 'planted' } })

/** A GET with a Cookie header, its text exactly as given. */
const withCookies = (cookie: string): Request => new Request('http://localhost/', { headers: { cookie } })

/** Whether a configuration is refused where it is made, or at the latest where a manager is built on it. */
function isRefused(options: TokenConfigOptions): boolean {
  try {
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_TOKEN_LOCATION: 'cookies', ...options })
    new TokenManager({ config })
    return false
  } catch (error) {
    if (error instanceof ConfigurationError) return true
    throw error
  }
}

const INJECTIONS = [
  'a\r\nSet-Cookie: b=1',
  'a\nb',
  'a; HttpOnly=no',
  'a;b',
  'a, b',
  'a\0',
  'a\u00A0',
  '\u00A0a',
  'a\u007F',
  'ä',
  '\u{1F36A}',
  '',
]

describeAttacks(
  'cookies: names, attributes and doubles (RFC 6265 §8.6, RFC 6265bis §4.1.3, CVE-2026-31865)',
  () => {
    attack("a token of the attacker's own, planted in front of the victim's", async ({ guard }) => {
      const guarded = await guard(GUARD, withCookies(`${COOKIE}=${GOOD}`))
      await guarded.accepts(withCookies(`a=1; ${COOKIE}=${GOOD}; b=2`))
      // RFC 6265 §5.4: a cookie of a longer path comes first, and a sub-domain may set one for its parent.
      await guarded.refuses(withCookies(`${COOKIE}=${PLANTED}; ${COOKIE}=${GOOD}`))
      await guarded.refuses(withCookies(`${COOKIE}=${PLANTED}; a=1; ${COOKIE}=${GOOD}; b=2`))
    })

    attack('a cookie whose name is only nearly the right one', async ({ guard }) => {
      const guarded = await guard(GUARD, withCookies(`${COOKIE}=${GOOD}`))
      for (const name of [
        'Access_Token',
        'ACCESS_TOKEN',
        'access%5Ftoken',
        'access%5ftoken',
        `\u00A0${COOKIE}`,
        `${COOKIE}\u00A0`,
        `x${COOKIE}`,
        `${COOKIE}x`,
        `"${COOKIE}"`,
        `${COOKIE}[]`,
        `__Host-${COOKIE}`,
        `$${COOKIE}`,
      ]) {
        await guarded.refuses(withCookies(`${name}=${GOOD}`))
      }
    })

    attack('a cookie inside the value of another one', async ({ guard }) => {
      const guarded = await guard(GUARD, withCookies(`${COOKIE}=${GOOD}`))
      for (const cookies of [
        `a=${COOKIE}=${GOOD}`,
        `a=1,${COOKIE}=${GOOD}`,
        `a=1, ${COOKIE}=${GOOD}`,
        `a=%3B%20${COOKIE}=${GOOD}`,
        `a=1&${COOKIE}=${GOOD}`,
        `=${COOKIE}=${GOOD}`,
        `$Version=1,${COOKIE}=${GOOD}`,
      ]) {
        await guarded.refuses(withCookies(cookies))
      }
    })

    ownAttack('two values under one name, in any order, in one header or in two', async () => {
      const { tokens } = createManager({
        JWT_SECRET_KEY: SECRET,
        JWT_TOKEN_LOCATION: 'cookies',
        JWT_ACCESS_COOKIE_NAME: COOKIE,
      })
      const check = (cookie: string): Promise<string> =>
        outcomeOf(tokens.accessTokenRequired(withCookies(cookie)))
      // A browser that has one cookie for two paths sends the same value twice.
      expect(await check(`${COOKIE}=${GOOD}; ${COOKIE}=${GOOD}`)).toBe('ok')
      for (const other of [PLANTED, '', 'x', `${GOOD}x`, `"${GOOD}"`]) {
        expect(await check(`${COOKIE}=${GOOD}; ${COOKIE}=${other}`)).toBe('TOKEN_INVALID')
        expect(await check(`${COOKIE}=${other}; ${COOKIE}=${GOOD}`)).toBe('TOKEN_INVALID')
      }
      const lines = [
        ['Cookie', `${COOKIE}=${GOOD}`],
        ['cookie', `${COOKIE}=${PLANTED}`],
      ] as const
      const send = (sent: readonly (readonly [string, string])[]): Promise<string> =>
        receive(toHttpText('GET /', sent), (request) => outcomeOf(tokens.accessTokenRequired(request)))
      expect(await send(lines.slice(0, 1))).toBe('ok')
      expect(await send(lines)).toBe('TOKEN_INVALID')
      expect(await send(lines.toReversed())).toBe('TOKEN_INVALID')
    })

    ownAttack('quotes and percent signs make no second spelling of a token', async () => {
      const { tokens } = createManager({
        JWT_SECRET_KEY: SECRET,
        JWT_TOKEN_LOCATION: 'cookies',
        JWT_ACCESS_COOKIE_NAME: COOKIE,
      })
      const check = (value: string): Promise<string> =>
        outcomeOf(tokens.accessTokenRequired(withCookies(`${COOKIE}=${value}`)))
      expect(await check(GOOD)).toBe('ok')
      for (const value of [
        `"${GOOD}"`,
        `'${GOOD}'`,
        GOOD.replace('.', '%2E'),
        `${GOOD}%00`,
        `${GOOD}=`,
        `${GOOD},`,
      ]) {
        expect(await check(value)).toBe('TOKEN_INVALID')
      }
    })

    ownAttack('a cookie called __proto__ or constructor, sent or configured', async () => {
      const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype']
      const { tokens } = createManager({
        JWT_SECRET_KEY: SECRET,
        JWT_TOKEN_LOCATION: 'cookies',
        JWT_ACCESS_COOKIE_NAME: COOKIE,
      })
      for (const name of NAMES) {
        const around = `${name}=1; ${COOKIE}=${GOOD}; ${name}[${COOKIE}]=x; ${name}.${COOKIE}=x`
        expect((await tokens.accessTokenRequired(withCookies(around))).sub).toBe('ada')
        expect(await outcomeOf(tokens.accessTokenRequired(withCookies(`${name}=${GOOD}`)))).toBe(
          'TOKEN_MISSING',
        )
        const named = createManager({
          JWT_SECRET_KEY: SECRET,
          JWT_TOKEN_LOCATION: 'cookies',
          JWT_ACCESS_COOKIE_NAME: name,
        })
        expect(await outcomeOf(named.tokens.accessTokenRequired(withCookies(`${name}=${GOOD}`)))).toBe('ok')
        // The name is in the header, but no cookie has it: nothing inherited may stand in.
        expect(await outcomeOf(named.tokens.accessTokenRequired(withCookies(`a=${name}`)))).toBe(
          'TOKEN_MISSING',
        )
      }
      expect(Object.keys(Object.prototype)).toEqual([])
    })

    ownAttack('line breaks, semicolons and invisible characters in names, paths and domains', () => {
      expect(isRefused({})).toBe(false)
      const NAMES = [
        'JWT_ACCESS_COOKIE_NAME',
        'JWT_REFRESH_COOKIE_NAME',
        'JWT_ACCESS_CSRF_COOKIE_NAME',
        'JWT_HEADER_NAME',
        'JWT_ACCESS_CSRF_HEADER_NAME',
      ] as const
      const PATHS = [
        'JWT_ACCESS_COOKIE_PATH',
        'JWT_REFRESH_COOKIE_PATH',
        'JWT_ACCESS_CSRF_COOKIE_PATH',
      ] as const
      for (const field of NAMES) {
        for (const value of [...INJECTIONS, 'a b', 'a=b', 'a\t'])
          expect(isRefused({ [field]: value })).toBe(true)
      }
      for (const field of PATHS) {
        for (const value of INJECTIONS.filter((text) => text !== 'a, b')) {
          expect(isRefused({ [field]: `/${value}` }), JSON.stringify(value)).toBe(value !== '')
        }
        for (const value of ['', 'a', ' /']) expect(isRefused({ [field]: value })).toBe(true)
      }
      for (const value of [...INJECTIONS, '..example', 'a..b', '-a.example', 'a_b.example', 'a/b', 'a:80']) {
        expect(isRefused({ JWT_COOKIE_DOMAIN: value }), JSON.stringify(value)).toBe(true)
      }
      for (const value of ['Lax', 'lax; Domain=x', 'lax\r\n', '', true]) {
        expect(isRefused({ JWT_COOKIE_SAMESITE: value as 'lax' })).toBe(true)
      }
    })

    ownAttack('a __Host- or __Secure- name, in any case, whose promise the other fields break', () => {
      // RFC 6265bis §5.4: browsers compare these prefixes without case.
      for (const prefix of ['__Host-', '__host-', '__HOST-', '__hOsT-']) {
        const JWT_ACCESS_COOKIE_NAME = `${prefix}a`
        expect(isRefused({ JWT_ACCESS_COOKIE_NAME })).toBe(false)
        expect(isRefused({ JWT_ACCESS_COOKIE_NAME, JWT_COOKIE_SECURE: false })).toBe(true)
        expect(isRefused({ JWT_ACCESS_COOKIE_NAME, JWT_COOKIE_DOMAIN: 'a.example' })).toBe(true)
        expect(isRefused({ JWT_ACCESS_COOKIE_NAME, JWT_ACCESS_COOKIE_PATH: '/x' })).toBe(true)
      }
      for (const prefix of ['__Secure-', '__secure-', '__SECURE-']) {
        expect(isRefused({ JWT_ACCESS_CSRF_COOKIE_NAME: `${prefix}a` })).toBe(false)
        expect(isRefused({ JWT_ACCESS_CSRF_COOKIE_NAME: `${prefix}a`, JWT_COOKIE_SECURE: false })).toBe(true)
      }
      expect(isRefused({ JWT_COOKIE_SAMESITE: 'none', JWT_COOKIE_SECURE: false })).toBe(true)
      expect(isRefused({ JWT_ACCESS_COOKIE_NAME: 'same', JWT_REFRESH_COOKIE_NAME: 'same' })).toBe(true)
    })

    ownAttack('a token or a claim that would add attributes to its cookie', () => {
      const { tokens } = createManager({ JWT_SECRET_KEY: SECRET, JWT_TOKEN_LOCATION: 'cookies' })
      const [honest = ''] = setAccessCookies(tokens, GOOD)
      const expected = parseSetCookie(honest)
      expect([expected.value, Object.keys(expected.attributes)]).toEqual([
        GOOD,
        ['path', 'httponly', 'secure', 'samesite'],
      ])
      const csrf = 'x; Domain=evil.example; Path=/; Max-Age=1\r\nSet-Cookie: a=b'
      const crafted = [
        ...['; Domain=evil.example', '\r\nSet-Cookie: a=b', ', a=b', '\u00A0', '\0'].map((end) => GOOD + end),
        `${encode({ alg: 'HS256' })}.${encode({ ...CLAIMS, csrf })}.x`,
      ]
      for (const token of crafted) {
        for (const header of setAccessCookies(tokens, token)) {
          expect(header).not.toMatch(/[\r\n\0]/)
          expect(Object.keys(parseSetCookie(header).attributes)).not.toContain('domain')
          expect(header.match(/;/g)).toHaveLength(header.startsWith('csrf') ? 3 : 4)
        }
      }
      expect(unsetCookies(tokens).every((header) => header.includes('Max-Age=0;'))).toBe(true)
    })
  },
)
