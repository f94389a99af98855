import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCopies, PAIRS } from './copies.js'
import { FRAMEWORKS } from './frameworks.js'

const root = await loadCopies('.')
const memory = await loadCopies('./memory')

function createManager(copy, storeCopy) {
  const { TokenConfig, TokenManager } = root[copy]
  const config = new TokenConfig({
    JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes',
    JWT_TOKEN_LOCATION: ['headers', 'json'],
  })
  return new TokenManager({ config, store: memory[storeCopy].createMemoryStore() })
}

const get = (headers = {}) => new Request('http://localhost/me', { headers })
const bearer = (token) => ({ authorization: `Bearer ${token}` })

test('there are two copies', () => {
  assert.notEqual(root.esModule.TokenManager, root.commonJs.TokenManager)
})

for (const [name, create] of Object.entries(FRAMEWORKS)) {
  const adapters = await loadCopies(`./${name}`)
  for (const [managerCopy, adapterCopy] of PAIRS) {
    test(`${name}: a manager of ${managerCopy}, an adapter and a store of ${adapterCopy}`, async () => {
      const tokens = createManager(managerCopy, adapterCopy)
      const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
      const app = await create(adapters[adapterCopy], tokens)
      try {
        const statusOf = async (request) => (await app.send(request)).status
        assert.equal(await statusOf(get()), 401)
        assert.equal(await statusOf(get(bearer('a.b.c'))), 401)
        assert.equal(await statusOf(get(bearer(refreshToken))), 401)
        const answer = await app.send(get(bearer(accessToken)))
        assert.deepEqual([answer.status, await answer.json()], [200, 'ada'])

        // In the body, which both `enforce` and `inject` read.
        const post = (body) =>
          new Request('http://localhost/me', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          })
        assert.equal(await statusOf(post({})), 401)
        assert.equal(await statusOf(post({ [tokens.config.JWT_JSON_KEY]: accessToken })), 200)

        await tokens.logout(await tokens.verify(accessToken))
        assert.equal(await statusOf(get(bearer(accessToken))), 401)
      } finally {
        app.close()
      }
    })
  }
}
