import type { Browser } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { csrfOf } from '../helpers/requests.js'
import { HOST_NAMES, openSites } from './open-sites.js'
import { createVisitor } from './visitor.js'

/**
 * Cookies that a sub-domain plants.
 *
 * RFC 6265bis §8.6: any host below example.test can set cookies for all of it, and the application cannot tell.
 */
export function describePlantedCookies(browser: () => Browser): void {
  /** The sites, a visitor, and an attacker who holds two hosts next to the application's and an account of their own. */
  async function open(options: TokenConfigOptions) {
    const sites = await openSites(() => options)
    onTestFinished(() => sites.close())
    const visitor = await createVisitor(browser(), sites)
    const { JWT_ACCESS_COOKIE_NAME: tokenName, JWT_ACCESS_CSRF_COOKIE_NAME: csrfName } = sites.tokens.config
    const token = sites.tokens.createAccessToken({ uid: 'mallory' })
    return {
      sites,
      visitor,
      tokenName,
      token,
      tokenCookie: `${tokenName}=${token}`,
      csrfCookie: `${csrfName}=${csrfOf(token)}`,
      /** The visitor comes by the attacker's host, which sets these cookies; one more shows that it could. */
      plant: async (
        cookies: readonly string[],
        attributes = 'Domain=example.test; Path=/',
        from = sites.sibling,
      ) => {
        const all = [...cookies, `marker=planted`].map((cookie) => `${cookie}; ${attributes}; Secure`)
        await visitor.page.goto(sites.pageOf(from, '', all))
        expect(await visitor.cookieNames()).toContain('marker')
      },
      /** The visitor comes by the attacker's host, which sets more cookies than a browser keeps for a site. */
      overflow: async () => {
        await visitor.page.goto(sites.pageOf(sites.sibling, OVERFLOW))
        await expect.poll(() => visitor.cookieNames(), { timeout: 10_000 }).not.toContain(tokenName)
      },
    }
  }

  describe('with plain names they are sent, and conflicts are refused', () => {
    test.each([
      ['a sibling, for the whole site', 'sibling', 'Domain=example.test; Path=/'],
      ['a sibling, for one path', 'sibling', 'Domain=example.test; Path=/notes'],
      ['a host below', 'subdomain', 'Domain=app.example.test; Path=/'],
    ] as const)(
      'a second token from %s: nobody is chosen (RFC 6265bis §5.8.3)',
      async (_, host, attributes) => {
        const { sites, visitor, plant, tokenCookie, csrfCookie } = await open({})
        await visitor.logIn('ada')
        expect(await visitor.addNote()).toMatchObject({ sub: 'ada' })
        await plant([tokenCookie, csrfCookie], attributes, sites[host])
        expect(await visitor.addNote()).toMatchObject({ sub: null, code: 'TOKEN_INVALID' })
        expect(sites.notes).toEqual(['ada'])
      },
    )

    test('a whole session before the login is believed, and refused once there are two', async () => {
      const { sites, visitor, plant, tokenCookie, csrfCookie } = await open({})
      await plant([tokenCookie, csrfCookie])
      // What only the names can prevent: the cookies are genuine, and nothing says who set them.
      expect(await visitor.addNote()).toMatchObject({ sub: 'mallory' })
      await visitor.logIn('ada')
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_INVALID' })
      expect(await visitor.addNote()).toMatchObject({ code: 'TOKEN_INVALID' })
      expect(sites.notes).toEqual(['mallory'])
    })

    test('a CSRF cookie does not fit the token of another (OWASP CSRF: signed double-submit cookie)', async () => {
      const { sites, visitor, plant, csrfCookie } = await open({})
      await plant([csrfCookie])
      await visitor.logIn('ada')
      expect(await visitor.addNote()).toMatchObject({ sub: null, code: 'CSRF_MISMATCH' })
      expect(sites.notes).toEqual([])
    })

    test('cookies without number push the real ones out, and a session takes their place', async () => {
      const { visitor, plant, overflow, tokenCookie, csrfCookie } = await open({})
      await visitor.logIn('ada')
      await overflow()
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_MISSING' })
      await plant([tokenCookie, csrfCookie])
      expect(await visitor.askWho()).toMatchObject({ sub: 'mallory' })
    })
  })

  describe('with __Host- names the browser refuses them (RFC 6265bis §4.1.3.2)', () => {
    test('before the login nobody is logged in, and after it the visitor is who they are', async () => {
      const { sites, visitor, plant, tokenCookie, csrfCookie } = await open(HOST_NAMES)
      await plant([tokenCookie, csrfCookie])
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_MISSING' })
      await visitor.logIn('ada')
      await plant([tokenCookie, csrfCookie])
      await plant([tokenCookie, csrfCookie], 'Domain=example.test; Path=/notes')
      await plant([tokenCookie, csrfCookie], 'Domain=app.example.test; Path=/', sites.subdomain)
      expect(await visitor.askWho()).toMatchObject({ sub: 'ada' })
      expect(await visitor.addNote()).toMatchObject({ sub: 'ada' })
      expect(sites.notes).toEqual(['ada'])
    })

    test('cookies without number log the visitor out, and no more', async () => {
      const { visitor, plant, overflow, tokenCookie, csrfCookie } = await open(HOST_NAMES)
      await visitor.logIn('ada')
      await overflow()
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_MISSING' })
      await plant([tokenCookie, csrfCookie])
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_MISSING' })
    })

    test('no other spelling of the name is taken for it, by the browser or by us', async () => {
      const { visitor, plant, tokenName, token } = await open(HOST_NAMES)
      await plant([])
      const set = async (name: string) => {
        const cookie = `${name}=${token}; Domain=example.test; Path=/; Secure`
        await visitor.run(`document.cookie = ${JSON.stringify(cookie)}`)
      }
      const refused = REFUSED_SPELLINGS.map((spell) => spell(tokenName))
      const kept = KEPT_SPELLINGS.map((spell) => spell(tokenName))
      for (const name of [...refused, ...kept]) await set(name)
      // Those that the browser keeps, it also sends.
      expect([...(await visitor.cookieNames())].toSorted()).toEqual(['marker', ...kept].toSorted())
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_MISSING' })
      await visitor.logIn('ada')
      expect(await visitor.askWho()).toMatchObject({ sub: 'ada' })
      expect(await visitor.addNote()).toMatchObject({ sub: 'ada' })
    })
  })
}

// Chromium keeps 180 cookies of a site, and forgets first what was not used for longest.
const OVERFLOW = `<script>for (let at = 0; at < 200; at++)
  document.cookie = 'filler' + at + '=x; Domain=example.test; Path=/; Secure'</script>`

// RFC 6265bis §5.4 and §5.6: in any case, with white space around, and without a name but with a value like a pair.
const REFUSED_SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toLowerCase(),
  (name) => name.toUpperCase(),
  (name) => ` ${name}`,
  (name) => `\t${name}`,
  (name) => `${name} `,
  (name) => `=${name}`,
  (name) => ` = ${name}`,
]

// What some servers trim, decode or rewrite to the name; to the browser they are names like any other.
const KEPT_SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => `\u00a0${name}`,
  (name) => `\u2000${name}`,
  (name) => `\ufeff${name}`,
  (name) => name.replace('H', '%48'),
  (name) => name.replaceAll('_', '%5F'),
  (name) => name.replace('__', '..'),
  (name) => `"${name}"`,
]
