import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { createManager, withBearer } from '../helpers/manager.js'
import { RequestToken } from '../../packages/tokenlib/src/index.js'

const found = new RequestToken('the-token', 'access', 'cookies', 'the-csrf')

test('a RequestToken has the four fields of the specification', () => {
  expect({ ...found }).toEqual({ token: 'the-token', type: 'access', location: 'cookies', csrf: 'the-csrf' })
})

test('without a CSRF value the field is null', () => {
  expect(new RequestToken('t', 'refresh', 'headers').csrf).toBeNull()
  expect(JSON.parse(JSON.stringify(new RequestToken('t', 'refresh', 'headers')))).toMatchObject({
    csrf: null,
  })
})

test('a RequestToken that an application gets cannot be changed', async () => {
  const { tokens } = createManager()
  const token = await tokens.getTokenFromRequest(withBearer('a.b.c'))
  const upgrade = await tokens.sockets.authenticate(withBearer(tokens.createAccessToken({ uid: 'u' })))
  for (const given of [token, upgrade.token]) {
    expect(() => Object.assign(given as object, { token: 'other' })).toThrow(TypeError)
  }
})

test.each([
  ['inspected', inspect(found)],
  ['inspected inside another object', inspect({ a: { b: found } })],
  ['formatted', inspect([found], { depth: null, showHidden: true })],
  ['serialised', JSON.stringify({ found })],
])('a RequestToken %s shows neither token nor CSRF value', (_, text) => {
  expect(text).not.toContain('the-token')
  expect(text).not.toContain('the-csrf')
  expect(text).toContain('cookies')
})
