import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type ClaimsSchema, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { SECRET, withBearer } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'

const open = (claims: unknown) =>
  new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }), claims: claims as ClaimsSchema })

const validate = (value: unknown) => ({ value })

describe('the option claims', () => {
  // Found out by a request, each of these would be a 500 for every user.
  test.each<[name: string, claims: unknown]>([
    ['a text', 'x'],
    ['a number', 1],
    ['true', true],
    ['false', false],
    ['null', null],
    ['an empty object', {}],
    ['a list', [z.object({})]],
    ['a shape that no schema was made of', { role: z.string() }],
    ['a function', validate],
    ['an old zod object', { parse: validate, safeParse: validate, _def: { typeName: 'ZodObject' } }],
    ['a module with a schema in it', { default: z.object({}) }],
    ['~standard that is null', { '~standard': null }],
    ['~standard without validate', { '~standard': { version: 1, vendor: 'x' } }],
    ['~standard with a validate that is no function', { '~standard': { version: 1, validate: true } }],
    ['~standard without a version', { '~standard': { vendor: 'x', validate } }],
    ['~standard of another version', { '~standard': { version: 2, vendor: 'x', validate } }],
    ['~standard with the version as a text', { '~standard': { version: '1', vendor: 'x', validate } }],
  ])('that is %s fails when the manager is built', (_, claims) => {
    expect(() => open(claims)).toThrow(naming('ConfigurationError', 'claims must be a Standard Schema'))
  })

  test.each<[name: string, claims: unknown]>([
    ['zod', z.object({ role: z.string() })],
    ['valibot', v.object({ role: v.string() })],
    ['arktype, whose schemas are functions', type({ role: 'string' })],
    ['a schema made by hand', { '~standard': { version: 1, vendor: 'x', validate } }],
    ['undefined', undefined],
  ])('that is %s is used', async (_, claims) => {
    const tokens = open(claims)
    const claimsOfAda = { uid: 'ada', role: 'admin' }
    const token = tokens.createAccessToken(claimsOfAda)
    expect(await tokens.accessTokenRequired(withBearer(token))).toMatchObject({ sub: 'ada', role: 'admin' })
  })
})
