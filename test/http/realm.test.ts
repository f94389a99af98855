import { expect, test } from 'vitest'
import { handleErrors as elysia } from '../../packages/tokenlib/src/frameworks/elysia.js'
import { handleErrors as express } from '../../packages/tokenlib/src/frameworks/express.js'
import { handleErrors as fastify } from '../../packages/tokenlib/src/frameworks/fastify.js'
import { handleErrors as fetch } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { handleErrors as h3 } from '../../packages/tokenlib/src/frameworks/h3.js'
import { handleErrors as hono } from '../../packages/tokenlib/src/frameworks/hono.js'
import { handleErrors as koa } from '../../packages/tokenlib/src/frameworks/koa.js'
import { MissingTokenError, toErrorResponse } from '../../packages/tokenlib/src/index.js'
import type { ErrorResponseOptions } from '../../packages/tokenlib/src/kit.js'
import { createManager } from '../helpers/manager.js'

const HANDLERS: readonly [string, (options: ErrorResponseOptions) => unknown][] = Object.entries({
  elysia,
  express,
  fastify,
  fetch,
  h3,
  hono,
  koa,
})

test.each([
  ['shop', 'shop'],
  ['', ''],
  ['say "hi"', 'say \\"hi\\"'],
  ['C:\\data', 'C:\\\\data'],
  ['", error="', '\\", error=\\"'],
  ['\\"', '\\\\\\"'],
])('quotes and backslashes of a realm are escaped: %j', (realm, quoted) => {
  const { headers } = toErrorResponse(new MissingTokenError(), { realm })
  expect(headers['www-authenticate']).toBe(`Bearer realm="${quoted}"`)
})

const BAD_REALMS = ['a\r\nb', 'tab\there', 'nul\0', '\u007f', 'Zürich', '🔑', 7 as never, null as never]

test.each(BAD_REALMS)('the realm %j is a mistake', (realm) => {
  expect(() => toErrorResponse(new MissingTokenError(), { realm })).toThrow(TypeError)
})

test.each(HANDLERS)('such a realm is found when handleErrors of %s is called', (_, handleErrors) => {
  for (const realm of BAD_REALMS) expect(() => handleErrors({ realm })).toThrow(TypeError)
  expect(() => handleErrors({ realm: 'say "hi"' })).not.toThrow()
})

test.each(HANDLERS)('a config that is not a TokenConfig is a TypeError: %s', (_name, handleErrors) => {
  const { tokens } = createManager()
  expect(() => handleErrors({ config: tokens as never })).toThrow(TypeError)
  expect(() => handleErrors({ config: tokens.config })).not.toThrow()
})
