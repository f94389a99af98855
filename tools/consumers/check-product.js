// What the product of a tutorial must do, with two processes and a Redis: from the login in a browser to the end of both.
import { strict as assert } from 'node:assert'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBrowser } from '../../test/consumers/shared/server.mjs'
import { importTypeScript } from '../shared/import-typescript.js'

const CREDENTIALS = { name: 'ada', password: 'correct horse' }
// The replica's bound on both pages.
const BOUND_MS = 1000
const SHUTDOWN_MS = 10_000
const RECOVERY_MS = 10_000

/** Sends the requests, and asserts each answer; ends both processes and stops Redis. */
export async function checkProduct([first, second], redis) {
  await checkPage(first.origin)
  await checkLogout(first, second)

  const before = await logIn(first.origin)
  await assertStatus(before.send('/health'), 200)
  await checkShutdown(first)

  const browser = await logIn(second.origin)
  for (const outage of [1, 2]) {
    await redis.kill()
    await sleep(BOUND_MS)
    await assertStatus(browser.send('/api/me'), 503)
    await assertStatus(browser.send('/health'), 503)
    if (outage === 2) break
    await redis.restart()
    await waitForStatus(browser, '/api/me', 200)
    await waitForStatus(browser, '/health', 200)
  }
  assertCleanEnd(await end(second))
}

/** A login and a logout by hand, in two tabs. */
async function checkPage(origin) {
  const { startChromium } = await importTypeScript('test/helpers/servers/start-chromium.ts')
  const chromium = await startChromium()
  try {
    const context = await chromium.browser.newContext()
    const [tab, other] = [await context.newPage(), await context.newPage()]
    await tab.goto(origin)
    await other.goto(origin)
    await tab.fill('input[name=name]', CREDENTIALS.name)
    await tab.fill('input[name=password]', 'wrong')
    await tab.click('form button')
    await tab.getByText('CREDENTIALS_INVALID').waitFor()
    await tab.fill('input[name=password]', CREDENTIALS.password)
    await tab.click('form button')
    for (const page of [tab, other]) await page.getByText('Hello, ada').waitFor()
    await other.getByText('Log out').click()
    for (const page of [tab, other]) await page.getByText('Log in').waitFor()
  } finally {
    await chromium.stop()
  }
}

/** A session of one process is one of the other, and so is its end. */
async function checkLogout(first, second) {
  const anonymous = createBrowser(first.origin)
  await assertStatus(anonymous.send('/api/me'), 401)
  await assertStatus(post(anonymous, '/auth/login', { ...CREDENTIALS, password: 'wrong' }), 401)

  const browser = await logIn(first.origin)
  const stolen = createBrowser(second.origin)
  for (const [name, value] of browser.cookies) stolen.cookies.set(name, value)
  for (const one of [browser, stolen]) {
    const answer = await assertStatus(one.send('/api/me'), 200)
    assert.deepEqual(await answer.json(), { name: 'ada' })
  }
  await assertStatus(post(browser, '/auth/logout'), 401)
  const csrf = { 'x-csrf-token': browser.cookies.get('csrf_access_token') }
  await assertStatus(post(browser, '/auth/logout', {}, csrf), 204)
  await assertStatus(createWith(first.origin, stolen).send('/api/me'), 401)
  await sleep(BOUND_MS)
  const refused = await assertStatus(stolen.send('/api/me'), 401)
  assert.equal((await refused.json()).code, 'TOKEN_REVOKED')
}

function createWith(origin, { cookies }) {
  const browser = createBrowser(origin)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  return browser
}

/** A process that is told to end finishes the request that it has begun to read: a login, which needs Redis. */
async function checkShutdown(server) {
  const body = JSON.stringify(CREDENTIALS)
  const headers = { 'content-type': 'application/json', 'content-length': String(body.length) }
  const login = request(`${server.origin}/auth/login`, { method: 'POST', headers })
  const answered = new Promise((resolve, reject) => login.once('response', resolve).on('error', reject))
  // Awaited below, after the rest of the body.
  answered.catch(() => {})
  login.write(body.slice(0, 10))
  await sleep(200)
  const ending = end(server)
  await sleep(200)
  login.end(body.slice(10))
  const { statusCode } = await answered
  assert.equal(statusCode, 200)
  assertCleanEnd(await ending)
}

/** Sends SIGTERM, and resolves to how the process ended. */
async function end({ child, ended }) {
  child.kill('SIGTERM')
  return Promise.race([ended, sleep(SHUTDOWN_MS, null, { ref: false })])
}

// Nest repeats the signal when it has closed everything.
function assertCleanEnd(result) {
  assert.notEqual(result, null, 'The process did not end after SIGTERM')
  assert.ok(result.code === 0 || result.signal === 'SIGTERM', JSON.stringify(result))
}

async function logIn(origin) {
  const browser = createBrowser(origin)
  await assertStatus(post(browser, '/auth/login', CREDENTIALS), 200)
  return browser
}

function post(browser, path, body = {}, headers = {}) {
  return browser.send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

async function waitForStatus(browser, path, status) {
  const deadline = performance.now() + RECOVERY_MS
  while ((await browser.send(path)).status !== status) {
    assert.ok(performance.now() < deadline, `${path} is not ${status} again`)
    await sleep(100)
  }
}

async function assertStatus(answering, status) {
  const response = await answering
  if (response.status !== status) {
    assert.fail(`${response.url} is ${response.status}, not ${status}: ${await response.text()}`)
  }
  return response
}
