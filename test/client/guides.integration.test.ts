import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { compileScript, parse } from 'vue/compiler-sfc'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { openTabs } from './open-tabs.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const EXPIRED = 16 * 60

/** The first block of the page in a language, in the tab of a framework. */
function readBlock(tab: string, language: string): string {
  const tabs = readFileSync(`${root}/docs/react-and-vue.md`, 'utf8').split(/^\*\*(\w+)\*\*$/m)
  const texts = tabs.filter((_, at) => tabs[at - 1] === tab)
  return texts.join('').split(`\`\`\`${language}\n`)[1]?.split('\n```')[0] ?? ''
}

const GUIDES = {
  React: {
    app: () => readBlock('React', 'tsx'),
    start: `import { createRoot } from 'react-dom/client'
      import { createElement, StrictMode } from 'react'
      import { App } from './app'
      createRoot(document.body).render(createElement(StrictMode, null, createElement(App)))`,
  },
  Vue: {
    app() {
      const { descriptor, errors } = parse(readBlock('Vue', 'vue'))
      expect(errors).toEqual([])
      return compileScript(descriptor, { id: 'app', inlineTemplate: true }).content
    },
    start: `import { createApp } from 'vue'
      import App from './app'
      createApp(App).mount(document.body)`,
  },
} as const

/** The page of a guide in one script, with the framework that is installed here and the client that is built. */
async function bundleGuide(name: keyof typeof GUIDES): Promise<string> {
  const { app, start } = GUIDES[name]
  const files: Record<string, string> = { './app': app(), './session': readBlock(name, 'ts') }
  const blocks: Plugin = {
    name: 'blocks',
    setup(setup) {
      setup.onResolve({ filter: /^\.\/(app|session)$/ }, ({ path }) => ({ path, namespace: 'blocks' }))
      setup.onLoad({ filter: /.*/, namespace: 'blocks' }, ({ path }) => ({
        contents: files[path] ?? '',
        loader: 'tsx',
        resolveDir: root,
      }))
    },
  }
  const { outputFiles } = await build({
    stdin: { contents: start, resolveDir: root },
    bundle: true,
    write: false,
    format: 'iife',
    jsx: 'automatic',
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
    },
    plugins: [blocks],
    tsconfigRaw: {},
  })
  return outputFiles[0]?.text ?? ''
}

describeWithChromium('the guide for', (browser) => {
  describe.each(Object.keys(GUIDES) as (keyof typeof GUIDES)[])('%s', (name) => {
    test('logs in and out, in every tab, and shows a form only to those who are logged out', async () => {
      const { context, origin, plan, clock, sent, tokens } = await openTabs(browser())
      const script = await bundleGuide(name)
      const html = '<!doctype html><body></body><script src="/guide.js"></script>'
      const open = async (): Promise<Page> => {
        plan('GET /guide', () => new Response(html, { headers: { 'content-type': 'text/html' } }))
        plan('GET /guide.js', () => new Response(script, { headers: { 'content-type': 'text/javascript' } }))
        const page = await context.newPage()
        await page.goto(`${origin}/guide`)
        return page
      }
      const logIn = async (page: Page, password: string): Promise<void> => {
        await page.fill('[name=name]', 'ada')
        await page.fill('[name=password]', password)
        await page.click('text=Log in')
      }
      const [first, second] = [await open(), await open()]
      await logIn(first, 'wrong')
      await first.waitForSelector('text=Wrong name or password')
      await logIn(first, 'secret')
      for (const page of [first, second]) await page.waitForSelector('text=Hello ada')

      clock.seconds += EXPIRED
      plan('GET /auth/session', () => new Response(null, { status: 503 }))
      const reloaded = await open()
      await reloaded.waitForSelector('text=Loading')
      await reloaded.waitForSelector('text=Hello ada')
      expect(sent().filter((route) => route === 'POST /auth/refresh')).toHaveLength(1)

      await first.click('text=Log out')
      for (const page of [first, second, reloaded]) await page.waitForSelector('text=Log in')
      expect(await tokens.sessions.list('ada')).toEqual([])
    })
  })
})
