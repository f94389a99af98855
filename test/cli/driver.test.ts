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
