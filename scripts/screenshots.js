// Takes the pictures of docs/images from running pages: npm run screenshots, or -- console-dark for some of them.
// It needs the built package, and Chromium (CHROME_PATH names another one).
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { serve } from '@hono/node-server'
import { chromium } from 'playwright-core'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createConsole } from 'tokenlib/console'
import { createMemoryStore } from 'tokenlib/stores/memory'
import { replicate } from 'tokenlib/stores/replica'

const MAX_BYTES = 200_000
const DESKTOP = { width: 1100, height: 800 }
const PHONE = { width: 390, height: 844 }

// One picture each: its name, the application that shows the page, how the browser is set, and what to do before.
const SHOTS = [
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
]

const folder = new URL('../docs/images/', import.meta.url)
mkdirSync(folder, { recursive: true })
const wanted = process.argv.slice(2)
const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })
try {
  for (const shot of SHOTS) if (wanted.length === 0 || wanted.includes(shot.name)) await take(shot)
} finally {
  await browser.close()
}

async function take({ name, start, colorScheme, viewport, prepare, fullPage = true }) {
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
    close()
  }
}

// An application with some users, an operator who is let in without a password, and a few revocations.
async function startConsole() {
  const store = replicate(createMemoryStore())
  const config = new TokenConfig({ JWT_SECRET_KEY: randomBytes(32) })
  const tokens = new TokenManager({ config, revocation: store })
  const routes = createConsole(tokens, { allow: () => 'grace@example.com', store })
  const logIn = (uid, ip, userAgent) => tokens.createTokenPair({ uid }, { ip, userAgent })
  await logIn('ada@example.com', '198.51.100.7', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0')
  await logIn('ada@example.com', '203.0.113.24', 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5) Safari/604.1')
  const stolen = await logIn('ada@example.com', '192.0.2.66', 'curl/8.14.1')
  const by = { actor: 'grace@example.com', ip: '192.0.2.9' }
  await tokens.revokeUser('mallory@example.com', { ...by, note: 'Ticket 4698: account closed' })
  const next = await tokens.refresh(stolen.refreshToken)
  await tokens.refresh(next.refreshToken)
  await tokens.refresh(stolen.refreshToken, { ip: '192.0.2.66' }).catch(() => undefined)
  await tokens.revokeSession(await newestOf(tokens), { ...by, note: 'Ticket 4711: laptop stolen' })
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

async function newestOf(tokens) {
  const [newest] = await tokens.listSessions('ada@example.com', { limit: 1 })
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
