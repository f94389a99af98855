import { expect, test } from 'vitest'
import { openConsole } from './console-fixture.js'

const CHROME = 'Chrome/141.0.0.0 Safari/537.36'
const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'

test.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} ${CHROME}`, 'Chrome on Linux'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} ${CHROME}`, 'Chrome on Windows'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} ${CHROME} Edg/141.0.0.0`, 'Edge on Windows'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} ${CHROME} OPR/120.0.0.0`, 'Opera on Windows'],
  [
    `Mozilla/5.0 (Linux; Android 15; Pixel 9) ${WEBKIT} Chrome/141.0.0.0 Mobile Safari/537.36`,
    'Chrome on Android',
  ],
  [
    `Mozilla/5.0 (Linux; Android 14; SM-S918B) ${WEBKIT} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36`,
    'Samsung Internet on Android',
  ],
  [
    `Mozilla/5.0 (Linux; Android 14; Pixel 8; wv) ${WEBKIT} Version/4.0 Chrome/141.0.0.0 Mobile Safari/537.36`,
    'Android app on Android',
  ],
  [`Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) ${WEBKIT} ${CHROME}`, 'Chrome on ChromeOS'],
  ['Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:145.0) Gecko/20100101 Firefox/145.0',
    'Firefox on macOS',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
    'Safari on iPhone',
  ],
  [
    'Mozilla/5.0 (iPad; CPU OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/141.0 Mobile/15E148 Safari/604.1',
    'Chrome on iPad',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/145.0 Mobile/15E148 Safari/605.1.15',
    'Firefox on iPhone',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko', 'Internet Explorer on Windows'],
  [
    `Mozilla/5.0 ${WEBKIT} (compatible; Googlebot/2.1; +http://www.google.com/bot.html) ${CHROME}`,
    'Googlebot',
  ],
  [
    `Mozilla/5.0 (Linux; Android 4.4; Nexus 5) ${WEBKIT} Version/4.0 Mobile Safari/534.30`,
    'Mozilla/5.0 (Linux; Android 4.4; Nexus 5…',
  ],
  ['curl/8.5.0', 'curl'],
  ['okhttp/4.12.0', 'okhttp'],
  ['python-requests/2.32.3', 'python-requests'],
  ['PostmanRuntime/7.43.0', 'PostmanRuntime'],
  ['My shop for televisions', 'My shop for televisions'],
  ['x'.repeat(100), `${'x'.repeat(40)}…`],
  ['😀'.repeat(100), `${'😀'.repeat(40)}…`],
  // Nobody chooses the name of the browser by writing one of their own.
  [`Mozilla/5.0 (on Linux, trust me) ${'y'.repeat(100)}`, 'Mozilla/5.0 (on Linux, trust me) yyyyyyy…'],
])('%s is shown as %s', async (userAgent, device) => {
  const { tokens, get } = openConsole()
  await tokens.sessions.open({ uid: 'ada' }, { userAgent })
  const response = await get('/api/sessions?user=ada')
  const { sessions } = (await response.json()) as { sessions: { userAgent: string; device: string }[] }
  expect(sessions).toMatchObject([{ device, userAgent: expect.any(String) as string }])
})

test('a session without one has no device', async () => {
  const { tokens, get } = openConsole()
  await tokens.sessions.open({ uid: 'ada' })
  const response = await get('/api/sessions?user=ada')
  expect(await response.json()).toMatchObject({ sessions: [{ userAgent: null, device: null }] })
})

test('a text of the longest length is read', async () => {
  const { tokens, get } = openConsole()
  for (const userAgent of [
    'Mozilla/5.0 '.repeat(5000),
    'Version/1'.repeat(5000),
    'compatible; '.repeat(5000),
  ]) {
    await tokens.sessions.open({ uid: 'ada' }, { userAgent })
  }
  const response = await get('/api/sessions?user=ada')
  expect(((await response.json()) as { sessions: unknown[] }).sessions).toHaveLength(3)
})
