import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Router } from '@koa/router'
import { loadCopies, PAIRS } from './copies.js'

const root = await loadCopies('.')
const koa = await loadCopies('./koa')
const memory = await loadCopies('./memory')
const replica = await loadCopies('./replica')
const errors = await loadCopies('./errors')

function createConfig(copy, fields = {}) {
  return new root[copy].TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes', ...fields })
}

for (const [first, second] of PAIRS) {
  test(`a configuration of ${first}, a manager of ${second}`, async () => {
    const tokens = new root[second].TokenManager({ config: createConfig(first) })
    assert.equal((await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))).sub, 'ada')
  })

  test(`an error of ${first} is a token error to ${second}`, async () => {
    const { TokenError, TokenManager } = root[first]
    const tokens = new TokenManager({ config: createConfig(first) })
    const error = await tokens.verify('a.b.c').catch((reason) => reason)
    assert.ok(root[second].isTokenError(error))
    assert.equal(root[second].toErrorResponse(error).status, 401)
    assert.ok(error instanceof TokenError)
    assert.ok(!(error instanceof root[second].TokenError))
  })

  test(`a replica of ${first} around a store of ${second}, in a manager of ${second}`, async () => {
    const store = replica[first].replicate(memory[second].createMemoryStore())
    const tokens = new root[second].TokenManager({ config: createConfig(second), store })
    await tokens.ready()
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' })
    const payload = await tokens.verify(accessToken)
    await tokens.logout(payload)
    await assert.rejects(tokens.verify(accessToken), { code: 'TOKEN_REVOKED' })
    await store.close()
  })

  test(`a store of ${first} that is misconfigured ends ready() of ${second} immediately`, async () => {
    const { ConfigurationError } = errors[first]
    let calls = 0
    const store = {
      ...memory[first].createMemoryStore(),
      async prepare() {
        calls += 1
        throw new ConfigurationError('The tables are missing')
      },
    }
    const tokens = new root[second].TokenManager({ config: createConfig(second), store })
    await assert.rejects(tokens.ready(), { code: 'CONFIGURATION_INVALID' })
    assert.equal(calls, 1)
  })

  test(`assertRouter of ${first} finds a route that bypasses enforce of ${second}`, () => {
    const tokens = new root[first].TokenManager({ config: createConfig(first) })
    const router = new Router()
    router.use('/admin', koa[second].enforce(tokens.accessTokenRequired))
    router.get(/^\/ADMIN/i, () => undefined)
    assert.throws(() => koa[first].assertRouter(router), TypeError)
  })
}
