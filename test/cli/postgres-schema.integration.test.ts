import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import { PATIENT, SECRET } from '../helpers/manager.js'
import { runCommand } from './test-terminal.js'

describeWithPostgres('tables in a schema of their own', (url) => {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  afterAll(() => pool.end())

  test('are found by the search_path of the address', async () => {
    const stores = [{}, { schema: 'auth' }].map((place) => createPostgresStore(pool, place))
    for (const store of stores) await store.migrate()
    const [other, tokens] = stores.map((revocation) => {
      const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
      return new TokenManager({ config, store: revocation })
    }) as [TokenManager, TokenManager]
    for (const manager of [other, tokens]) await manager.sessions.open({ uid: 'ada' })

    const env = { TOKENLIB_STORE: `${url}?options=-csearch_path%3Dauth` }
    const revoked = await runCommand(['revoke', 'user', 'ada', '--yes'], { env })
    expect(revoked.exitCode, revoked.stderr).toBe(0)
    expect(await tokens.sessions.list('ada')).toHaveLength(0)
    expect(await other.sessions.list('ada')).toHaveLength(1)
    const found = await runCommand(['doctor', '--json'], { env })
    expect(found.stdout).toContain('postgres-tables')
  })
})
