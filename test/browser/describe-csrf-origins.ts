import type { Browser } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { openSites, type SiteOrigins } from './open-sites.js'
import { createVisitor, selfSubmitting } from './visitor.js'

// All that could stop an attack before JWT_CSRF_ORIGINS is given away: the cookies go everywhere, every host of the site
// can read the CSRF value, and a form can send it.
const OPEN = {
  JWT_COOKIE_SAMESITE: 'none',
  JWT_COOKIE_DOMAIN: 'example.test',
  JWT_CSRF_CHECK_FORM: true,
} as const satisfies TokenConfigOptions

/** What `JWT_CSRF_ORIGINS` refuses. */
export function describeCsrfOrigins(browser: () => Browser): void {
  /** The sites, a visitor who is logged in, and the CSRF value of their token. */
  async function open(listed: (origins: SiteOrigins) => readonly string[] | null) {
    const sites = await openSites((origins) => ({ ...OPEN, JWT_CSRF_ORIGINS: listed(origins) }))
    onTestFinished(() => sites.close())
    const visitor = await createVisitor(browser(), sites)
    await visitor.logIn('ada')
    const cookies = await visitor.context.cookies()
    const csrf = cookies.find(({ name }) => name === 'csrf_access_token')?.value ?? ''
    const form = selfSubmitting(`${sites.app}/notes`, { csrf_token: csrf })
    const visit = (origin: string, html: string) => visitor.fallFor(sites.pageOf(origin, html))
    const detour = selfSubmitting(`${sites.evil}/detour?to=${sites.app}/notes`, { csrf_token: csrf })
    return {
      sites,
      visitor,
      attacks: {
        'a form of a sibling': () => visit(sites.sibling, form),
        'a form of a host below': () => visit(sites.subdomain, form),
        'a form of another site': () => visit(sites.evil, form),
        'a sandboxed frame of another site': () => visit(sites.evil, frame(form)),
        'a sandboxed frame in a page of ours': () => visit(sites.app, frame(form)),
        'a form of ours that takes a detour': () => visit(sites.app, detour),
      },
      honest: {
        'a script of ours': () => visitor.addNote(),
        'a form of ours': () => visit(sites.app, form),
        'a form of ours without referrer': () =>
          visit(sites.app, `<meta name="referrer" content="no-referrer">${form}`),
      },
    }
  }

  // The marks that Chromium puts on each of them (Fetch Metadata §2.3, Fetch §3.2).
  const MARKS = {
    'a form of a sibling': ['same-site', 'sibling'],
    'a form of a host below': ['same-site', 'subdomain'],
    'a form of another site': ['cross-site', 'evil'],
    'a sandboxed frame of another site': ['cross-site', null],
    'a sandboxed frame in a page of ours': ['cross-site', null],
    'a form of ours that takes a detour': ['cross-site', null],
    'a script of ours': ['same-origin', 'app'],
    'a form of ours': ['same-origin', 'app'],
    'a form of ours without referrer': ['same-origin', null],
  } as const

  test('refuses what the CSRF value alone would let pass (OWASP CSRF: fetch metadata)', async () => {
    const { sites, attacks, honest } = await open(({ app }) => [app])
    for (const [name, attack] of Object.entries(attacks))
      expect([name, await attack()]).toMatchObject([name, { sub: null, code: 'CSRF_MISMATCH' }])
    expect(sites.notes).toEqual([])
    for (const [name, send] of Object.entries(honest))
      expect([name, await send()]).toMatchObject([name, { sub: 'ada' }])
  })

  test('without it each of these attacks succeeds, marked as such', async () => {
    const { sites, attacks, honest } = await open(() => null)
    for (const [name, send] of Object.entries({ ...attacks, ...honest })) {
      const [site, origin] = MARKS[name as keyof typeof MARKS]
      expect([name, await send()]).toEqual([
        name,
        { sub: 'ada', code: null, site, origin: origin === null ? 'null' : sites[origin] },
      ])
    }
  })

  test('lets a sibling that is listed pass, and no other', async () => {
    const { attacks } = await open(({ app, sibling }) => [app, sibling])
    expect(await attacks['a form of a sibling']()).toMatchObject({ sub: 'ada', site: 'same-site' })
    expect(await attacks['a form of a host below']()).toMatchObject({ code: 'CSRF_MISMATCH' })
  })

  test('does not keep links of other sites from opening a page', async () => {
    const { sites, visitor } = await open(({ app }) => [app])
    const link = sites.pageOf(sites.evil, `<script>location = '${sites.app}/me'</script>`)
    expect(await visitor.fallFor(link, 'GET /me')).toMatchObject({ sub: 'ada', site: 'cross-site' })
  })

  describe('WebSockets', () => {
    test('a handshake of another origin is refused although it brings the cookie (RFC 6455 §10.2)', async () => {
      const { sites, visitor } = await open(() => null)
      const connect = async (from: string, path: string) => {
        await visitor.page.goto(from)
        return visitor.run(`new Promise((resolve) => {
          const socket = new WebSocket('${sites.app.replace('https', 'wss')}${path}')
          socket.onmessage = ({ data }) => resolve(data)
          socket.onclose = ({ code }) => resolve(code)
        })`)
      }
      expect(await connect(sites.app, '/')).toBe('ada')
      for (const origin of [sites.evil, sites.sibling, sites.subdomain]) {
        expect(await connect(origin, '/unprotected')).toBe('ada')
        // RFC 6455 §7.1.5: closed without a reason, all that a page learns of a refusal.
        expect(await connect(origin, '/')).toBe(1006)
      }
    })
  })
}

/** A frame whose page has no origin. */
function frame(html: string): string {
  const source = html.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<iframe sandbox="allow-forms allow-scripts" srcdoc="${source}"></iframe>`
}
