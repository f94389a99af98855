import { describe, expect, onTestFinished, test } from 'vitest'
import {
  clientCredentials,
  createRevocationRoute,
  type RevocationRouteOptions,
} from '../../packages/issuers/src/index.js'
import { createRevocable } from '../helpers/revocable.js'
import { basic, client, type TestClient } from '../routes/oauth-fixture.js'
import { MOUNTS } from './mounted.js'

const { tokens } = createRevocable()

// As HTTP clients throw when a 200 has a body that they cannot read.
const failWithStatus = (): never => {
  throw Object.assign(new Error('Unexpected token < in JSON'), { status: 200, statusCode: 200 })
}
// Of a client that throws every response that is not as expected.
const failWithResponse = (): never => {
  throw new Response('a response of another service')
}
// A function that looks something up with a token of its own.
const failWithTokenError = (): Promise<never> => tokens.verify('x') as Promise<never>

type Options = Partial<RevocationRouteOptions<TestClient>>
const HOOKS: readonly (readonly [string, Options])[] = [
  ['isAllowed that throws a status', { isAllowed: failWithStatus }],
  ['isAllowed that throws a token error', { isAllowed: failWithTokenError }],
  ['isAllowed that throws a response', { isAllowed: failWithResponse }],
  ['actor that throws a status', { actor: failWithStatus }],
  ['verify that throws a status', { client: clientCredentials<TestClient>({ verify: failWithStatus }) }],
  [
    'verify that throws a token error',
    { client: clientCredentials<TestClient>({ verify: failWithTokenError }) },
  ],
  ['client that throws a status', { client: failWithStatus }],
]

describe.each(Object.entries(MOUNTS))('in %s', (_name, start) => {
  test.each(HOOKS)('%s is answered with 500', async (_case, options) => {
    const app = await start(createRevocationRoute(tokens, { client, ...options }))
    onTestFinished(() => app.close())
    const token = tokens.createAccessToken({ uid: 'ada' })
    const response = await fetch(`${app.url}/oauth/revoke`, {
      method: 'POST',
      headers: { authorization: basic(), 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token }).toString(),
    })
    expect(response.status).toBe(500)
    await expect(tokens.verify(token)).resolves.toMatchObject({ sub: 'ada' })
  })
})
