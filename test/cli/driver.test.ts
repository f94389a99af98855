import { expect, test } from 'vitest'
import { hidePassword, unavailable } from '../../packages/cli/src/driver.js'

test.each([
  ['redis://127.0.0.1:6379/0', 'redis://127.0.0.1:6379/0'],
  ['redis://:hunter2@127.0.0.1:6379/0', 'redis://127.0.0.1:6379/0'],
  ['postgres://ada:hunter2@db.example/app?password=hunter2', 'postgres://ada@db.example/app'],
  ['postgres://ada:hun@ter2@db.example/app', 'postgres://ada@db.example/app'],
  ['postgres://ada:hun%23ter2@[::1]:5432/app#x', 'postgres://ada@[::1]:5432/app'],
  ['mysql://ada:hunter2@db.example/app?ssl=true', 'mysql://ada@db.example/app'],
  ['sqlite:/var/lib/a@b/tokens.db', 'sqlite:/var/lib/a@b/tokens.db'],
])('%s is shown as %s', (url, shown) => {
  expect(hidePassword(url)).toBe(shown)
})

test.each([
  'redis://:hunter2#x@db.example:6379/0',
  'redis://ada:4711#hunter2@db.example',
  'redis://ada:4711?hunter2@db.example',
  'redis://ada:4711/hunter2@db.example',
  'redis://hunter2/4711@db.example',
  'postgres://ada:hunter2@db.example/app?password=4711@hunter2',
  'postgres://ada:hunter2@one.example:5432,two.example:4711/app',
  'postgres://ada:hunter2@db.example:4711x/app',
  'postgres://ada:hun\nter2@db.example:4711x/app',
])('of %j only the scheme is shown', (url) => {
  const scheme = url.slice(0, url.indexOf('//') + 2)
  expect(hidePassword(url)).toBe(`${scheme}[hidden]`)
  const cause = Object.assign(new Error('getaddrinfo ENOTFOUND hunter2 4711'), { code: 'ENOTFOUND' })
  const { message } = unavailable(url, cause)
  expect(message).toContain('ENOTFOUND')
  expect(message).not.toMatch(/hunter2|4711|ter2/)
})

test.each([
  'mysql:/ada:hunter2@db.example/app',
  'mysql:ada:hunter2@db.example/app',
  'mysql:\\\\ada:hunter2@db.example/app',
  'mariadb:/ada:hunter2@db.example/app',
  'postgres:/ada:hunter2@db.example/app',
  'postgres:ada:hunter2@db.example/app',
  'redis:/:hunter2@db.example',
  'redis:hunter2@db.example',
])('of %j, which has no //, only the scheme is shown', (url) => {
  expect(hidePassword(url)).toBe(`${url.slice(0, url.indexOf(':') + 1)}[hidden]`)
  const cause = Object.assign(new Error("Unknown database 'ada:hunter2@db.example/app'"), {
    code: 'ER_BAD_DB',
  })
  const { message } = unavailable(url, cause)
  expect(message).toContain('ER_BAD_DB. Write //')
  expect(message).not.toContain('hunter2')
})

test.each([
  ['ssl={"passphrase":"hunter2"', `Unknown SSL profile '{"passphrase":"hunter2"'`],
  ['ssl=%7B%22passphrase%22:%22hunter2%22', `Unknown SSL profile '{"passphrase":"hunter2"'`],
  ['ssl=hunter2+of+ada', `Unknown SSL profile 'hunter2 of ada'`],
  ['a=pass&ssl={"passphrase":"hunter2"', `Unknown SSL profile '{"passphrase":"hunter2"'`],
])('a message does not show the value of the parameter %s', (parameters, text) => {
  const { message } = unavailable(`mysql://ada:4711@db.example/app?${parameters}`, new Error(text))
  expect(message).toContain("Unknown SSL profile '[hidden]'")
  expect(message).not.toContain('hunter2')
})

test('a short parameter is left in a message', () => {
  const { message } = unavailable('mysql://db.example/app?ssl=1', new Error('ECONNREFUSED 127.0.0.1:3306'))
  expect(message).toContain('127.0.0.1:3306')
})
