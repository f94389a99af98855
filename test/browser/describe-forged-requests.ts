import type { Browser } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { csrfOf } from '../helpers/requests.js'
import { HOST_NAMES, openSites } from './open-sites.js'
import { createVisitor, selfSubmitting } from './visitor.js'

// Cookies that go wherever a request goes: what SameSite would have stopped is not stopped.
const NONE = { JWT_COOKIE_SAMESITE: 'none' } as const satisfies TokenConfigOptions

type Path = `/${string}`

/** Requests that another site starts. */
export function describeForgedRequests(browser: () => Browser): void {
  /** The sites, and a visitor who is logged in. */
  async function open(options: TokenConfigOptions) {
    const sites = await openSites(() => options)
    onTestFinished(() => sites.close())
    const visitor = await createVisitor(browser(), sites)
    await visitor.logIn('ada')
    return { sites, visitor }
  }

  test('a script of the page reads the CSRF value and never the token (RFC 6265bis §4.1.2.6)', async () => {
    const { sites, visitor } = await open({})
    expect(await visitor.context.cookies()).toHaveLength(3)
    const names = await visitor.run(`document.cookie.split('; ').map((pair) => pair.split('=')[0])`)
    expect(names).toEqual(['csrf_access_token'])
    expect(await visitor.addNote()).toMatchObject({ sub: 'ada' })
    expect(sites.notes).toEqual(['ada'])
  })

  test('a form of another site is refused (OWASP CSRF: signed double-submit cookie)', async () => {
    const { sites, visitor } = await open(NONE)
    const attack = (path: Path) => sites.pageOf(sites.evil, selfSubmitting(sites.app + path))
    expect(await visitor.fallFor(attack('/unprotected'), 'POST /unprotected')).toMatchObject({ sub: 'ada' })
    expect(await visitor.fallFor(attack('/notes'))).toMatchObject({ sub: null, code: 'CSRF_MISSING' })
    expect(await visitor.fallFor(attack('/refresh'), 'POST /refresh')).toMatchObject({ code: 'CSRF_MISSING' })
    expect(await visitor.fallFor(attack('/logout'), 'POST /logout')).toMatchObject({ code: 'CSRF_MISSING' })
    expect(sites.notes).toEqual(['ada'])
    expect(await visitor.addNote()).toMatchObject({ sub: 'ada' })
  })

  test('SameSite=Lax keeps the cookie from other sites, not from sub-domains (RFC 6265bis §8.8)', async () => {
    const { sites, visitor } = await open({})
    const attack = (origin: string, path: Path) =>
      visitor.fallFor(sites.pageOf(origin, selfSubmitting(sites.app + path)), `POST ${path}`)
    expect(await attack(sites.evil, '/unprotected')).toMatchObject({ code: 'TOKEN_MISSING' })
    for (const origin of [sites.sibling, sites.subdomain]) {
      expect(await attack(origin, '/unprotected')).toMatchObject({ sub: 'ada', site: 'same-site' })
      expect(await attack(origin, '/notes')).toMatchObject({ code: 'CSRF_MISSING' })
    }
    expect(sites.notes).toEqual(['ada', 'ada'])
  })

  test('a form field carries the value of the page, and an attacker has none that fits (OWASP CSRF)', async () => {
    const { sites, visitor } = await open({ ...NONE, JWT_CSRF_CHECK_FORM: true })
    await visitor.page.goto(`${sites.app}/form`)
    const honest = sites.nextAnswer('POST /notes')
    await visitor.run('document.forms[0].submit()')
    await visitor.page.waitForURL('**/notes')
    expect(await honest).toMatchObject({ sub: 'ada' })

    const attack = (fields: Record<string, string>) =>
      visitor.fallFor(sites.pageOf(sites.evil, selfSubmitting(`${sites.app}/notes`, fields)))
    const own = csrfOf(sites.tokens.createAccessToken({ uid: 'mallory' }))
    expect(await attack({})).toMatchObject({ code: 'CSRF_MISSING' })
    expect(await attack({ csrf_token: '' })).toMatchObject({ code: 'CSRF_MISSING' })
    expect(await attack({ csrf_token: own })).toMatchObject({ code: 'CSRF_MISMATCH' })
    expect(sites.notes).toEqual(['ada'])
  })

  test('a script of another site sends the cookie but no header (OWASP CSRF: custom request headers)', async () => {
    const { sites, visitor } = await open(NONE)
    const cookies = await visitor.context.cookies()
    // Even one who knows the value cannot send it.
    const csrf = cookies.find(({ name }) => name === 'csrf_access_token')?.value ?? ''
    const attack = (path: string, mode: string) => {
      const init = `{ method: 'POST', mode: '${mode}', credentials: 'include', headers: { 'X-CSRF-TOKEN': '${csrf}' } }`
      return sites.pageOf(sites.evil, `<script>fetch('${sites.app}${path}', ${init})</script>`)
    }
    const unprotected = await visitor.fallForScript(attack('/unprotected', 'no-cors'), 'POST /unprotected')
    expect(unprotected).toMatchObject({ sub: 'ada' })
    const refused = await visitor.fallForScript(attack('/notes', 'no-cors'))
    expect(refused).toMatchObject({ sub: null, code: 'CSRF_MISSING' })

    // With CORS the browser asks first, and the application does not agree: the request itself is never sent.
    let arrived = false
    void sites.nextAnswer('POST /notes').then(() => (arrived = true))
    await visitor.fallForScript(attack('/notes', 'cors'), 'OPTIONS /notes')
    await visitor.page.goto(sites.evil)
    const outcome = `fetch('${sites.app}/notes', { method: 'POST', headers: { 'X-CSRF-TOKEN': '${csrf}' } })`
    expect(await visitor.run(`${outcome}.catch((error) => error.name)`)).toBe('TypeError')
    expect([arrived, sites.notes]).toEqual([false, ['ada']])
  })

  test('a link from another site brings the cookie, and changes nothing (RFC 6265bis §8.8.2)', async () => {
    const { sites, visitor } = await open({})
    const link = (path: Path) => sites.pageOf(sites.evil, `<script>location = '${sites.app}${path}'</script>`)
    expect(await visitor.fallFor(link('/me'), 'GET /me')).toMatchObject({ sub: 'ada', site: 'cross-site' })
    for (const path of ['/notes', '/unprotected', '/logout', '/refresh'] as const)
      await visitor.fallFor(link(path), `GET ${path}`)
    expect(sites.notes).toEqual([])
    expect(await visitor.addNote()).toMatchObject({ sub: 'ada' })
  })

  test.each([
    ['plain names', {}],
    ['__Host- names', HOST_NAMES],
    ['a domain and a lifetime', { JWT_COOKIE_DOMAIN: 'example.test', JWT_SESSION_COOKIE: false }],
  ])(
    'logout deletes every cookie, with %s, and copies are worthless (RFC 6265bis §5.7)',
    async (_, options) => {
      const { sites, visitor } = await open(options)
      const copies = await visitor.context.cookies()
      expect(copies).toHaveLength(3)
      expect(await visitor.sendOwn('/logout')).toMatchObject({ sub: 'ada' })
      expect(await visitor.context.cookies()).toEqual([])
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_MISSING' })
      await visitor.context.addCookies(copies)
      expect(await visitor.askWho()).toMatchObject({ code: 'TOKEN_REVOKED' })
      expect(sites.notes).toEqual([])
    },
  )

  test('a login that takes JSON alone cannot be forged, one that takes forms can (OWASP CSRF: login forms)', async () => {
    const { sites, visitor } = await open({})
    const attack = (path: Path) =>
      visitor.fallFor(
        sites.pageOf(sites.evil, selfSubmitting(`${sites.app}${path}?uid=mallory`)),
        `POST ${path}`,
      )
    await attack('/login')
    expect(await visitor.askWho()).toMatchObject({ sub: 'ada' })
    await attack('/login-with-form')
    expect(await visitor.askWho()).toMatchObject({ sub: 'mallory' })
  })
}
