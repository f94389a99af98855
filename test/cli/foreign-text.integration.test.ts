import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createPostgresStore } from '../../packages/tokenlib/src/stores/postgres.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import { PATIENT, SECRET } from '../helpers/manager.js'
import { describeWithOwnServer, describeWithPostgres } from '../helpers/servers/describe-with-servers.js'
import type { RunningServer } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { hasScript, MAIN, newFolder, onTerminal, plantPackage, tokenlib } from './run-program.js'

beforeAll(() => {
  if (!existsSync(MAIN)) throw new Error('packages/cli/dist/main.js does not exist: npm run build')
})

// Writes to the clipboard, moves the cursor (7-bit and 8-bit), reverses text, and ends the line.
const HOSTILE = '\u001B]52;c;ZXZpbA==\u0007\u009B2J\u009D0;owned\u009C\u202Egnp\u2028\r\u007F'

// A pseudo terminal ends lines with CR LF. Besides that, only our own colours may be there.
const OWN = ['\r\n', ...[1, 2, 22, 31, 32, 33, 39].map((code) => `\u001B[${code}m`)]
const withoutOwn = (screen: string): string => OWN.reduce((text, own) => text.replaceAll(own, ''), screen)
const CONTROLS = /[\p{Cc}\p{Cf}\u2028\u2029]/u

function expectHarmless(screen: string): void {
  expect(screen).toContain(String.raw`\u001b]52;c;ZXZpbA==\u0007`)
  expect(withoutOwn(screen)).not.toMatch(CONTROLS)
}

const COMMANDS = [
  ['sessions', 'ada'],
  ['prune'],
  ['revoke', 'user', 'ada', '--yes'],
  ['revoke', 'session', 'x', '--yes'],
  ['revoke', 'all', '--yes'],
]

describe.runIf(hasScript)('on a pseudo terminal', () => {
  describeWithOwnServer('redis', 'the error of a Redis server', () => {
    let redis: RunningServer
    // A server that does not know a command repeats its arguments.
    const settings = { 'rename-command': ['AUTH ""', 'HELLO ""'] }
    beforeAll(async () => void (redis = await startRedis(settings)))
    afterAll(() => redis.stop())

    test.each(COMMANDS.map((args) => [args]))('of %j has no control character', async (args) => {
      const address = new URL(redis.url)
      const url = `redis://${encodeURIComponent(HOSTILE)}:pw@${address.host}`
      const { exitCode, stdout } = await onTerminal(args, '', { TOKENLIB_STORE: url })
      expect(exitCode).toBe(3)
      expectHarmless(stdout)
    })

    test('is a valid JSON document with --json', async () => {
      const address = new URL(redis.url)
      const url = `redis://${encodeURIComponent(HOSTILE)}:pw@${address.host}`
      const { stdout } = await onTerminal(['prune', '--json'], '', { TOKENLIB_STORE: url })
      expect(stdout.replaceAll('\r\n', '')).not.toMatch(CONTROLS)
      const { error } = JSON.parse(stdout) as { error: { message: string } }
      // The server itself replaces line ends.
      expect(error.message).toContain(HOSTILE.replaceAll('\r', ' '))
    })
  })

  describeWithPostgres('the error of a PostgreSQL server', (url) => {
    const pool = new Pool({ connectionString: url })
    const store = createPostgresStore(pool, { allowVolatile: true })
    beforeAll(async () => {
      await store.migrate()
      const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
      const tokens = new TokenManager({ config, store })
      await tokens.sessions.open({ uid: 'ada' })
      const text = `'${HOSTILE}'`
      await pool.query(`create function refuse() returns trigger language plpgsql as
        $$ begin raise exception using message = ${text}; end $$`)
      await pool.query(`create trigger refuse before insert or update on tokenlib_revocations
        for each row execute function refuse()`)
    })
    afterAll(async () => {
      await store.close()
      await pool.end()
    })

    test.each([['user'], ['session']])('of revoke %s has no control character', async (kind) => {
      const { exitCode, stdout } = await onTerminal(['revoke', kind, 'ada', '--yes'], '', {
        TOKENLIB_STORE: url,
      })
      expect(exitCode).toBe(3)
      expectHarmless(stdout)
    })
  })

  test('ids, notes, file names, user agents and warnings have no control character', async () => {
    const path = join(newFolder(), 'tokens.db')
    const database = new DatabaseSync(path)
    const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
    const tokens = new TokenManager({ config, store: createSqliteStore(database) })
    await tokens.sessions.open({ uid: HOSTILE, [HOSTILE]: HOSTILE }, { userAgent: HOSTILE })
    const token = tokens.createAccessToken({ uid: HOSTILE, [HOSTILE]: HOSTILE })
    database.close()
    const env = { TOKENLIB_STORE: `sqlite:${path}`, JWT_SECRET_KEY: SECRET }
    for (const args of [
      ['sessions', HOSTILE],
      ['revoke', 'user', HOSTILE, '--yes', '--note', HOSTILE],
      ['revoke', 'session', HOSTILE, '--yes', '--actor', HOSTILE, '--json'],
      ['sessions', 'ada', '--store', `sqlite:${HOSTILE}`],
      ['keygen', '--out', `/does-not-exist/${HOSTILE}`],
      ['inspect', token],
      ['verify', token],
      [HOSTILE],
      ['help', HOSTILE],
      ['secret', `--${HOSTILE}`],
    ]) {
      const { stdout } = await onTerminal(args, '', env)
      expect([args, CONTROLS.exec(withoutOwn(stdout))]).toEqual([args, null])
    }
  })
})

test('a package of the start folder that fails later is reported without control characters', async () => {
  const text = JSON.stringify(HOSTILE)
  const folder = newFolder()
  plantPackage(
    folder,
    'ioredis',
    `process.emitWarning(${text})
     exports.Redis = class {
       on() {}
       call() {}
       connect() { setTimeout(() => { throw new Error(${text}) }); return new Promise(() => {}) }
       disconnect() {}
     }`,
  )
  const { exitCode, stdout, stderr } = await tokenlib(['prune', '--store', 'redis://127.0.0.1:1'], {
    cwd: folder,
  })
  expect([exitCode, stdout]).toEqual([3, ''])
  expect(stderr.replaceAll('\n', '')).not.toMatch(CONTROLS)
  expect(stderr.split('\n').filter(Boolean)).toHaveLength(2)
})
