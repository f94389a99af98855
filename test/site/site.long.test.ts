import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listEntryPoints } from '../../site/reference.js'
import { serveFolder } from '../../site/serve-folder.js'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { buildSite, findBrokenLinks, findForeignResources, listPages, SITE } from './built-site.js'

// Once for all tests: it is most of the time they take. SITE_IS_BUILT=1 takes the one that is there.
beforeAll(async () => {
  if (process.env['SITE_IS_BUILT'] === undefined) await buildSite()
}, 600_000)

describe('the files of the site', () => {
  test('every address in every page leads to a file and to a heading, at any base', () => {
    const pages = listPages()
    expect(pages.length).toBeGreaterThan(100)
    const broken = pages.flatMap((page) => findBrokenLinks(page).map((address) => `${page}: ${address}`))
    expect(broken).toEqual([])
  })

  test('no page loads anything from another host', () => {
    expect(listPages().flatMap(findForeignResources)).toEqual([])
  })

  test('the reference has a page for each entry point', () => {
    const missing = listEntryPoints().filter(({ page }) => !existsSync(join(SITE, `reference/${page}.html`)))
    expect(missing).toEqual([])
    const page = readFileSync(join(SITE, 'reference/redis.html'), 'utf8')
    expect(page).toContain('id="createredisstore"')
  })

  test('llms.txt lists pages that are there as Markdown', () => {
    const list = readFileSync(join(SITE, 'llms.txt'), 'utf8')
    const pages = Array.from(list.matchAll(/\]\(([^)]+)\)/g), ([, page = '']) => page)
    expect(pages).toContain('getting-started.md')
    expect(pages.filter((page) => !existsSync(join(SITE, page)))).toEqual([])
    expect(readFileSync(join(SITE, 'llms-full.txt'), 'utf8')).toContain('# Getting started')
  })
})

describeWithChromium('the site in a browser', (browser) => {
  describe.each(['/', '/some/base/'])('at %s', (base) => {
    let served: Awaited<ReturnType<typeof serveFolder>>
    beforeAll(async () => void (served = await serveFolder(SITE, base)))
    afterAll(() => served.close())

    /** Runs a test in a context of its own; it must log no error and send no request elsewhere. */
    async function withPage(
      path: string,
      body: (page: Page) => Promise<void>,
      options: BrowserContextOptions = {},
    ): Promise<void> {
      const context = await browser().newContext(options)
      const problems: string[] = []
      const page = await context.newPage()
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) problems.push(message.text())
      })
      page.on('pageerror', ({ message }) => problems.push(message))
      page.on('request', (request) => {
        if (!request.url().startsWith(served.url) && !request.url().startsWith('data:')) {
          problems.push(request.url())
        }
      })
      await page.goto(served.url + path, { waitUntil: 'networkidle' })
      await body(page)
      await context.close()
      expect(problems).toEqual([])
    }

    const readPath = (page: Page): string => page.url().slice(served.url.length)

    test('links of the side bar lead on after a change of folder', async () => {
      await withPage('stores/redis.html', async (page) => {
        const sideBar = page.locator('.VPSidebar')
        await sideBar.getByRole('link', { name: 'Creating tokens' }).click()
        await page.getByRole('heading', { level: 1, name: 'Creating tokens' }).waitFor()
        expect(readPath(page)).toBe('creating-tokens.html')
        await sideBar.getByRole('link', { name: 'Configuration' }).click()
        await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor()
        expect(readPath(page)).toBe('configuration.html')
        await page.locator('.VPNavBarTitle a').click()
        await page.getByRole('heading', { name: 'JWT sessions with a logout that works' }).waitFor()
        expect(readPath(page)).toBe('')
      })
    })

    // What works below another path works at the root if its links and scripts do.
    if (base === '/') return

    test('search finds a word and opens the page at its heading', async () => {
      await withPage('', async (page) => {
        await page.getByRole('button', { name: 'Search' }).click()
        await page.getByRole('searchbox').fill('log out everywhere')
        // A guide, before the reference, which has the word in more titles.
        await page.locator('.VPLocalSearchBox .result').first().click()
        await page.waitForURL(/revocation\.html#/)
        const id = decodeURIComponent(new URL(page.url()).hash.slice(1))
        const heading = page.locator(`[id="${id}"]`)
        await heading.waitFor()
        const box = await heading.boundingBox()
        expect(box?.y).toBeLessThan(page.viewportSize()?.height ?? 0)
      })
    })

    // What people type, and the page that answers it.
    const QUESTIONS: readonly (readonly [question: string, page: string])[] = [
      ['log out everywhere', 'revocation'],
      ['log out other devices', 'sessions'],
      ['how do I revoke a session', 'revocation'],
      ['refresh token expired', 'errors'],
      ['CSRF', 'cookies-and-csrf'],
      ['401 after deploy', 'errors'],
      ['redis down', 'stores/redis'],
      ['rotate keys', 'keys'],
      ['change password', 'recipes/step-up'],
      ['roles', 'dependencies'],
      ['permissions', 'dependencies'],
      ['websocket', 'websockets'],
      ['next.js', 'next'],
      ['nestjs jest', 'nest'],
      ['keycloak logout', 'identity-providers'],
      ['multi tenant', 'recipes/multi-tenant'],
      ['multitenant', 'recipes/multi-tenant'],
    ]
    test('search finds the page that answers a question first', async () => {
      const found: (readonly [string, string])[] = []
      await withPage('', async (page) => {
        await page.getByRole('button', { name: 'Search' }).click()
        const results = page.locator('.VPLocalSearchBox .result')
        for (const [question] of QUESTIONS) {
          await page.getByRole('searchbox').fill('')
          await results.first().waitFor({ state: 'detached' })
          await page.getByRole('searchbox').fill(question)
          const { href } = new URL((await results.first().getAttribute('href')) ?? '', page.url())
          found.push([question, href.slice(served.url.length).replace(/\.html.*$/, '')])
        }
      })
      expect(found).toEqual(QUESTIONS)
    })

    test('a tab is chosen on the whole page, and again on the next visit', async () => {
      await withPage('react-and-vue.html', async (page) => {
        const readChosen = () => page.locator('input:checked + label').allTextContents()
        expect(await readChosen()).toEqual(['React', 'React'])
        await page.locator('label[data-title="Vue"]').first().click()
        expect(await readChosen()).toEqual(['Vue', 'Vue'])
        await page.reload({ waitUntil: 'networkidle' })
        await expect.poll(readChosen).toEqual(['Vue', 'Vue'])
      })
    })

    test('the switch of the colours is remembered', async () => {
      await withPage(
        '',
        async (page) => {
          const isDark = () => page.evaluate(`document.documentElement.classList.contains('dark')`)
          expect(await isDark()).toBe(false)
          await page.locator('.VPNavBarAppearance button').click()
          expect(await isDark()).toBe(true)
          expect(await page.locator('.chart.only-dark').isVisible()).toBe(true)
          expect(await page.locator('.chart.only-light').isVisible()).toBe(false)
          await page.reload({ waitUntil: 'networkidle' })
          expect(await isDark()).toBe(true)
        },
        { colorScheme: 'light' },
      )
    })

    test('on a phone no page is wider than the screen, and the menus open', async () => {
      await withPage(
        '',
        async (page) => {
          for (const path of ['', 'getting-started.html', 'configuration.html', 'reference/tokenlib.html']) {
            await page.goto(served.url + path, { waitUntil: 'networkidle' })
            expect([path, await page.evaluate(`document.documentElement.scrollWidth`)]).toEqual([path, 390])
          }
          await page.goto(`${served.url}configuration.html`, { waitUntil: 'networkidle' })
          const isScrolled = `[...document.querySelectorAll('table')].some((table) => table.scrollWidth > innerWidth)`
          expect(await page.evaluate(isScrolled)).toBe(false)
          const meaning = page.getByRole('cell', { name: 'decrypts an encrypted PEM' })
          expect((await meaning.boundingBox())?.width).toBeGreaterThan(250)
          await page.getByRole('button', { name: 'Menu' }).click()
          await page.locator('.VPSidebar.open').getByRole('link', { name: 'Keys', exact: true }).click()
          await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
          await page.getByRole('button', { name: 'mobile navigation' }).click()
          await page.locator('.VPNavScreen').getByRole('link', { name: 'API' }).click()
          await page.getByRole('heading', { level: 1, name: 'API reference' }).waitFor()
        },
        { viewport: { width: 390, height: 844 }, hasTouch: true },
      )
    })

    test('a page that is not there leads home', async () => {
      const context = await browser().newContext()
      const page = await context.newPage()
      const response = await page.goto(`${served.url}stores/none.html`)
      expect(response?.status()).toBe(404)
      await expect.poll(() => page.evaluate(`document.querySelector('#home').href`)).toBe(served.url)
      await context.close()
    })
  })
})
