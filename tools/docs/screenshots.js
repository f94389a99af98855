// Takes the pictures of docs/images from running pages: node tools/docs/screenshots.js [console-dark …]
// It needs `npm run build:examples` and Chromium (CHROME_PATH names another one). The pictures of the site need the built
// site too: npm run site -- build.
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { serve } from '@hono/node-server'
import { Redis } from 'ioredis'
import { chromium } from 'playwright-core'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createConsole } from '@tokenlib/console'
import { createMemoryStore } from 'tokenlib/memory'
import { createRedisStore } from 'tokenlib/redis'
import { replicate } from 'tokenlib/replica'
import { serveFolder } from '../../site/serve-folder.js'
import { START } from '../../build/examples/frameworks.js'
import { openApplication } from '../../build/examples/open-application.js'
import { importTypeScript } from '../shared/import-typescript.js'
import { createTerminalPage } from './terminal-page.js'

const MAX_BYTES = 200_000
const DESKTOP = { width: 1100, height: 800 }
const EXAMPLE = { width: 1100, height: 940 }
const SITE = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }

// One picture each: its name, the application that shows the page, how the browser is set, and what to do before.
const SHOTS = [
  {
    name: 'example-light',
    start: startExample,
    colorScheme: 'light',
    viewport: EXAMPLE,
    prepare: logIn,
  },
  {
    name: 'example-dark',
    start: startExample,
    colorScheme: 'dark',
    viewport: EXAMPLE,
    prepare: stopStore,
  },
  {
    name: 'example-phone',
    start: startExample,
    colorScheme: 'light',
    viewport: PHONE,
    prepare: logIn,
  },
  {
    name: 'console-light',
    start: startConsole,
    colorScheme: 'light',
    viewport: DESKTOP,
    prepare: showSessions,
  },
  {
    name: 'console-dark',
    start: startConsole,
    colorScheme: 'dark',
    viewport: DESKTOP,
    prepare: showSessions,
  },
  {
    name: 'console-confirm',
    start: startConsole,
    colorScheme: 'light',
    viewport: DESKTOP,
    prepare: openConfirmation,
    fullPage: false,
  },
  {
    name: 'console-phone',
    start: startConsole,
    colorScheme: 'light',
    viewport: PHONE,
    prepare: showSessions,
  },
  {
    name: 'site-light',
    start: startSite,
    colorScheme: 'light',
    viewport: SITE,
    fullPage: false,
  },
  {
    name: 'site-dark',
    start: startSite,
    colorScheme: 'dark',
    viewport: SITE,
    prepare: showChart,
    fullPage: false,
  },
  {
    name: 'site-phone',
    start: startSite,
    colorScheme: 'light',
    viewport: PHONE,
    fullPage: false,
  },
  {
    name: 'doctor',
    start: startDoctor,
    colorScheme: 'light',
    viewport: { width: 800, height: 400 },
    prepare: showReport,
  },
]

const folder = new URL('../../docs/images/', import.meta.url)
mkdirSync(folder, { recursive: true })
const wanted = process.argv.slice(2)
const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
try {
  for (const shot of SHOTS) if (wanted.length === 0 || wanted.includes(shot.name)) await take(shot)
} finally {
  await browser.close()
}

async function take({
  name,
  start,
  colorScheme,
  viewport,
  prepare = async () => undefined,
  fullPage = true,
}) {
  const { address, close } = await start()
  const context = await browser.newContext({ colorScheme, viewport, locale: 'en-GB', timezoneId: 'UTC' })
  try {
    const page = await context.newPage()
    await page.goto(address)
    await prepare(page)
    const path = new URL(`${name}.png`, folder).pathname
    await page.screenshot({ path, fullPage })
    const { size } = statSync(path)
    if (size > MAX_BYTES) throw new Error(`${path} has ${size} bytes, more than ${MAX_BYTES}`)
    console.log(`${name}.png, ${size} bytes`)
  } finally {
    await context.close()
    await close()
  }
}

// The example application, with a user who is logged in on two other devices.
async function startExample() {
  const framework = 'fastify'
  const pageFacts = { Framework: framework, Store: 'memory' }
  const opened = await openApplication({ store: { kind: 'memory' }, pageFacts })
  const options = { framework, port: 0, profile: 'message', handleErrors: true }
  const server = await START[framework](opened.application, options)
  for (const userAgent of [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  ]) {
    await fetch(`${server.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': userAgent },
      body: JSON.stringify({ user: 'ada', password: 'correct horse' }),
    })
  }
  return {
    address: `${server.url}/app`,
    async close() {
      await server.close()
      await opened.close()
    },
  }
}

async function logIn(page) {
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('this device').waitFor()
  await page.getByRole('button', { name: 'Send a request' }).click()
  await page.getByText('Hello, ada').waitFor()
  // An access token lives for 20 seconds.
  await page.getByText('refreshed').waitFor()
  await page.getByText('13 s left').waitFor()
}

async function stopStore(page) {
  await logIn(page)
  await page.getByRole('button', { name: 'Stop the store' }).click()
  await page.getByText('The store does not answer').waitFor()
}

// An application with some users, an operator who is let in without a password, and a few revocations.
async function startConsole() {
  const store = replicate(createMemoryStore())
  const config = new TokenConfig({ JWT_SECRET_KEY: randomBytes(32) })
  const tokens = new TokenManager({ config, store })
  const routes = createConsole(tokens, { allow: () => 'grace@example.com', store })
  const logIn = (uid, ip, userAgent) => tokens.sessions.open({ uid }, { ip, userAgent })
  await logIn('ada@example.com', '198.51.100.7', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0')
  await logIn('ada@example.com', '203.0.113.24', 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5) Safari/604.1')
  const stolen = await logIn('ada@example.com', '192.0.2.66', 'curl/8.14.1')
  const by = { actor: 'grace@example.com', ip: '192.0.2.9' }
  await tokens.revoke.user('mallory@example.com', { ...by, note: 'Ticket 4698: account closed' })
  const next = await tokens.sessions.refresh(stolen.refreshToken)
  await tokens.sessions.refresh(next.refreshToken)
  await tokens.sessions.refresh(stolen.refreshToken, { ip: '192.0.2.66' }).catch(() => undefined)
  await tokens.revoke.session(await newestOf(tokens), { ...by, note: 'Ticket 4711: laptop stolen' })
  await logIn(
    'ada@example.com',
    '198.51.100.7',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/141.0.0.0',
  )

  const answer = async (request) => (await routes.handle(request)) ?? new Response(null, { status: 404 })
  const server = await new Promise((resolve) => {
    const started = serve({ fetch: answer, port: 0, hostname: '127.0.0.1' }, () => resolve(started))
  })
  return {
    address: `http://127.0.0.1:${server.address().port}${routes.path}/`,
    close() {
      server.close()
      server.closeAllConnections()
      void store.close()
    },
  }
}

// What doctor prints for an application with a few mistakes, on a Redis of its own.
async function startDoctor() {
  const { startRedis } = await importTypeScript('test/helpers/servers/start-redis.ts')
  const redis = await startRedis({ maxmemory: '256mb', 'maxmemory-policy': 'allkeys-lru' })
  const client = new Redis(redis.url)
  await createRedisStore(client, { allowVolatile: true }).prepare({ longestLifetime: 60_000 })
  client.disconnect()
  const env = {
    PATH: process.env.PATH,
    FORCE_COLOR: '1',
    COLUMNS: '80',
    NODE_ENV: 'production',
    TOKENLIB_STORE: redis.url,
    JWT_SECRET_KEY: 'a-string-secret-at-least-256-bits-long',
    JWT_PREVIOUS_SECRET_KEY: randomBytes(48).toString('base64url'),
    JWT_ACCES_TOKEN_EXPIRES: '5m',
    JWT_TOKEN_LOCATION: 'cookies',
    JWT_COOKIE_SECURE: 'false',
    JWT_COOKIE_DOMAIN: 'example.com',
    JWT_DECODE_AUDIENCE: 'shop',
  }
  const main = new URL('../../packages/cli/dist/main.js', import.meta.url).pathname
  const { stdout } = spawnSync(process.execPath, [main, 'doctor'], { env, encoding: 'utf8' })
  // The port is another one every time.
  const page = createTerminalPage('npx tokenlib doctor', stdout.replaceAll(String(redis.port), '6379'))
  return {
    address: `data:text/html;base64,${Buffer.from(page).toString('base64')}`,
    close: () => redis.stop(),
  }
}

async function showReport(page) {
  await page.getByText('Guide: ').waitFor()
}

async function newestOf(tokens) {
  const [newest] = await tokens.sessions.list('ada@example.com', { limit: 1 })
  return newest.id
}

async function showSessions(page) {
  await page.getByLabel('User id').fill('ada@example.com')
  await page.getByRole('button', { name: 'Show sessions' }).click()
  await page.getByText('sessions of ada').waitFor()
  await page.getByText('laptop stolen').waitFor()
}

async function openConfirmation(page) {
  await showSessions(page)
  await page.getByRole('button', { name: 'Revoke user…' }).click()
  await page.getByLabel('Reason').fill('Ticket 4711: laptop stolen')
}

// The documentation site, at a path that is not the root.
async function startSite() {
  const { url, close } = await serveFolder(new URL('../../build/site', import.meta.url).pathname, '/docs/')
  return { address: url, close }
}

async function showChart(page) {
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await page.locator('.chart.only-dark').waitFor()
  await scrollTo(page, '#what-it-is-and-what-it-is-not')
}

async function scrollTo(page, selector) {
  await page.evaluate((selector) => {
    const { top } = document.querySelector(selector).getBoundingClientRect()
    window.scrollBy(0, top - 90)
  }, selector)
}

function findChromium() {
  if (process.env.CHROME_PATH) return process.env.CHROME_PATH
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  for (const name of names) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim()
    } catch {
      // The next one.
    }
  }
  throw new Error('There is no Chromium on this machine: set CHROME_PATH')
}
