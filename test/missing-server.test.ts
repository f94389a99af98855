import { afterEach, describe, expect, test, vi } from 'vitest'
import { findChromium, findFirefox } from './helpers/servers/find-servers.js'
import { decideMissing, type Machine } from './helpers/servers/missing-server.js'

describe('a server that is not on the machine', () => {
  const debian: Machine = {
    platform: 'linux',
    uid: 0,
    osRelease: 'NAME=x\nID=debian\n',
    hasApt: true,
    hasUrl: false,
    ci: false,
  }
  const brew = /^The tests with Redis are skipped: .*\(brew install redis, or set REDIS_URL\)/
  const apt = /^The tests with Redis are skipped: .*\(apt-get install redis-server, or set REDIS_URL\)/
  const table: [string, Partial<Machine>, string, RegExp][] = [
    ['root on Debian', {}, 'install', /installing the package redis-server/],
    ['root on Ubuntu', { osRelease: 'ID="ubuntu"' }, 'install', /installing/],
    ['root on Debian in CI', { ci: true }, 'install', /installing/],
    ['a user on Debian', { uid: 1000 }, 'skip', apt],
    [
      'a user on Debian in CI',
      { uid: 1000, ci: true },
      'fail',
      /^The tests with Redis cannot run: .*\(apt-get/,
    ],
    ['a user who gave a URL', { uid: 1000, hasUrl: true }, 'skip', /that kill Redis are .*redis-server\)/],
    ['root on Debian without apt-get', { hasApt: false }, 'skip', apt],
    ['root on Fedora', { osRelease: 'ID=fedora' }, 'skip', apt],
    ['root on a relative of Debian', { osRelease: 'ID=mint\nID_LIKE=debian' }, 'skip', apt],
    ['root without an os-release', { osRelease: '' }, 'skip', apt],
    ['a Mac', { platform: 'darwin', uid: 501, osRelease: '' }, 'skip', brew],
    ['a Mac in CI', { platform: 'darwin', osRelease: '', ci: true }, 'fail', /cannot run: .*brew/],
    ['Windows', { platform: 'win32', uid: undefined, osRelease: '' }, 'skip', /skipped/],
  ]

  test.each(table)('%s', (_, machine, action, message) => {
    const decision = decideMissing('redis', { ...debian, ...machine })
    expect(decision).toEqual({ action, message: expect.stringMatching(message) as string })
    expect(decision.message).not.toContain('\n')
  })

  test.each<[Partial<Machine>, string, RegExp]>([
    [{}, 'install', /^Chromium is missing: installing the package chromium\.$/],
    [
      { uid: 1000 },
      'skip',
      /^The tests with Chromium are skipped: .*apt-get install chromium, or set CHROME_PATH\)/,
    ],
    [{ uid: 1000, ci: true }, 'fail', /^The tests with Chromium cannot run: .*apt-get install chromium/],
    [
      { platform: 'darwin', uid: 501, osRelease: '' },
      'skip',
      /brew install --cask chromium, or set CHROME_PATH\)/,
    ],
  ])('the browser, %j', (machine, action, message) => {
    const decision = decideMissing('chromium', { ...debian, ...machine })
    expect(decision).toEqual({ action, message: expect.stringMatching(message) as string })
  })

  test.each<[Partial<Machine>, string, RegExp]>([
    [{}, 'install', /^Firefox is missing: installing the package firefox-esr\.$/],
    [
      { uid: 1000 },
      'skip',
      /^The tests with Firefox are skipped: .*apt-get install firefox-esr, or set FIREFOX_PATH\)/,
    ],
    [{ uid: 1000, ci: true }, 'fail', /^The tests with Firefox cannot run: .*apt-get install firefox-esr/],
  ])('the other browser, %j', (machine, action, message) => {
    const decision = decideMissing('firefox', { ...debian, ...machine })
    expect(decision).toEqual({ action, message: expect.stringMatching(message) as string })
  })

  test.each<[Partial<Machine>, string, RegExp]>([
    [{}, 'install', /^Spin is missing: installing the package spin\.$/],
    [{ uid: 1000 }, 'skip', /^The tests with Spin are skipped: .*apt-get install spin, or set SPIN_PATH\)/],
    [{ uid: 1000, ci: true }, 'fail', /^The tests with Spin cannot run: .*apt-get install spin/],
  ])('the model checker, %j', (machine, action, message) => {
    const decision = decideMissing('spin', { ...debian, ...machine })
    expect(decision).toEqual({ action, message: expect.stringMatching(message) as string })
  })

  test.each<Partial<Machine>>([{}, { uid: 1000 }, { platform: 'darwin', osRelease: '' }, { ci: true }])(
    'the runtime of Workers comes from npm, %j',
    (machine) => {
      const decision = decideMissing('workerd', { ...debian, ...machine })
      expect(decision).toEqual({ action: 'install', message: 'workerd is missing: installing it from npm.' })
    },
  )
})

describe.each([
  ['CHROME_PATH', findChromium],
  ['FIREFOX_PATH', findFirefox],
] as const)('%s', (variable, find) => {
  afterEach(() => void vi.unstubAllEnvs())

  test('names the browser', () => {
    vi.stubEnv(variable, process.execPath)
    expect(find()).toBe(process.execPath)
  })

  test('is an error when it names none: another browser would not be the one that was asked for', () => {
    vi.stubEnv(variable, '/nowhere')
    expect(find).toThrow(`${variable} is no program: /nowhere`)
  })
})
