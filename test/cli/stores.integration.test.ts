import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { trustLegacyIssuer } from '../../packages/issuers/src/index.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { createForeign } from '../helpers/foreign.js'
import { PATIENT, SECRET } from '../helpers/manager.js'
import { runCommand, type TestOutside } from './test-terminal.js'

// One real store, in this process. test/cli/main.long.test.ts has the others, and the built program.
const path = join(mkdtempSync(join(tmpdir(), 'tokenlib-cli-')), 'tokens.db')
const env = { TOKENLIB_STORE: `sqlite:${path}`, JWT_SECRET_KEY: SECRET }
const withoutKey = { TOKENLIB_STORE: env.TOKENLIB_STORE }
const database = new DatabaseSync(path)
// Without a grace, a session moves on at every refresh.
const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_REFRESH_GRACE: 0, ...PATIENT })
const tokens = new TokenManager({ config, store: createSqliteStore(database) })

beforeAll(() => tokens.ready())
afterAll(() => database.close())

let users = 0
const newUser = (): string => `user-${++users}`

async function logIn(uid: string): Promise<{ accessToken: string; refreshToken: string; sid: string }> {
  const pair = await tokens.sessions.open({ uid }, { ip: '10.0.0.7', userAgent: 'Browser\u001B[2J/1' })
  const { sid = '' } = await tokens.verify(pair.accessToken)
  return { ...pair, sid }
}

const revoke = (args: readonly string[], outside: TestOutside = {}) =>
  runCommand(['revoke', ...args], { env: withoutKey, ...outside })

describe('verify', () => {
  test('valid, then revoked', async () => {
    const { accessToken, sid } = await logIn(newUser())
    const valid = await runCommand(['verify', accessToken, '--json'], { env })
    expect(valid.exitCode).toBe(0)
    expect(valid.json()).toMatchObject({ valid: true, revocation: 'checked', claims: { sid } })
    await tokens.revoke.session(sid)
    const refused = await runCommand(['verify', '-'], { env, input: accessToken })
    expect(refused.exitCode).toBe(1)
    expect(refused.stdout).toContain('TOKEN_REVOKED')
  })

  test('without a store it says that revocation was not checked', async () => {
    const { accessToken } = await logIn(newUser())
    const keyOnly = { env: { JWT_SECRET_KEY: SECRET } }
    const { exitCode, stderr } = await runCommand(['verify', accessToken], keyOnly)
    expect([exitCode, stderr.includes('NOT checked')]).toEqual([0, true])
    const json = await runCommand(['verify', accessToken, '--json'], keyOnly)
    expect(json.json()).toMatchObject({ valid: true, revocation: 'not checked' })
  })

  test('it does not use up a refresh token, and knows one that was used', async () => {
    const verify = async (token: string | undefined) => {
      const { exitCode, json } = await runCommand(['verify', token ?? '', '--json'], { env })
      return [exitCode, json<{ code?: string }>().code ?? null]
    }
    const line = [(await logIn(newUser())).refreshToken]
    for (let call = 0; call < 2; call++) expect(await verify(line[0])).toEqual([0, null])
    for (let times = 0; times < 3; times++) {
      line.push(String((await tokens.sessions.refresh(line.at(-1) ?? '')).refreshToken))
    }
    expect(await verify(line[0])).toEqual([1, 'TOKEN_REVOKED'])
    expect(await verify(line[1])).toEqual([1, 'REFRESH_SUPERSEDED'])
    // A used one that is presented would end the session.
    expect(await verify(line[3])).toEqual([0, null])
  })

  test('--type refuses the other one, and a forged token is refused', async () => {
    const { accessToken } = await logIn(newUser())
    const wrong = await runCommand(['verify', accessToken, '--type', 'refresh', '--json'], { env })
    expect(wrong.exitCode).toBe(1)
    expect(wrong.json()).toMatchObject({ valid: false, code: 'REFRESH_TOKEN_REQUIRED' })
    const forged = await runCommand(['verify', `${accessToken.slice(0, -4)}AAAA`, '--json'], { env })
    expect(forged.json()).toMatchObject({ valid: false, code: 'TOKEN_SIGNATURE_INVALID', claims: null })
  })
})

describe('sessions', () => {
  test('a table, in pages, that a user agent cannot break', async () => {
    const user = newUser()
    const all = [await logIn(user), await logIn(user), await logIn(user)].map(({ sid }) => sid)
    const { stdout, exitCode } = await runCommand(['sessions', user], { env: withoutKey })
    expect(exitCode).toBe(0)
    expect(stdout.split('\n').filter((line) => line.includes('10.0.0.7'))).toHaveLength(3)
    expect(stdout).not.toContain('\u001B')
    const first = await runCommand(['sessions', user, '--limit', '2', '--json'], { env: withoutKey })
    const page = first.json<{ sessions: { id: string }[]; next: string }>()
    const args = ['sessions', user, '--limit', '2', '--json', '--before', page.next]
    const second = (await runCommand(args, { env: withoutKey })).json<typeof page>()
    expect([page.sessions.length, second.sessions.length, second.next]).toEqual([2, 1, null])
    // In the order of the store, which goes by id for logins of the same millisecond.
    const listed = [...page.sessions, ...second.sessions].map(({ id }) => id)
    expect(listed).toEqual((await tokens.sessions.list(user)).map(({ id }) => id))
    expect(listed.toSorted()).toEqual(all.toSorted())
  })

  test('a session is shown by its label, which cannot break the table either', async () => {
    const user = newUser()
    const { sid } = await logIn(user)
    await tokens.sessions.update(sid, user, { label: "Ada's \u202Ephone", tenant: 'north' })
    const { stdout } = await runCommand(['sessions', user], { env: withoutKey })
    expect(stdout).toContain("Ada's \\u202ephone")
    expect(stdout).not.toContain('Browser')
    const { json } = await runCommand(['sessions', user, '--json'], { env: withoutKey })
    expect(json()).toMatchObject({ sessions: [{ data: { tenant: 'north' } }] })
    const { stderr } = await revoke(['session', sid], { answer: false })
    expect(stderr).toContain("Ada's \\u202ephone")
  })

  test('nobody has none, and an invalid cursor is wrong usage', async () => {
    expect((await runCommand(['sessions', 'nobody'], { env: withoutKey })).stdout).toContain(
      'No live session',
    )
    const { exitCode } = await runCommand(['sessions', 'nobody', '--before', 'x\n'], { env: withoutKey })
    expect(exitCode).toBe(2)
  })
})

describe('revoke', () => {
  test('asks first, and says how many sessions will end', async () => {
    const user = newUser()
    const [one] = [await logIn(user), await logIn(user)]
    const declined = await revoke(['user', user], { answer: false })
    expect([declined.exitCode, declined.stdout]).toEqual([1, 'Nothing was revoked\n'])
    expect(declined.stderr).toContain('2 live sessions will end')
    expect(declined.stderr).toContain(path)
    await tokens.verify(one.accessToken)
    const agreed = await revoke(['user', user], { answer: true })
    expect([agreed.exitCode, agreed.stdout.includes('Live sessions left: 0')]).toEqual([0, true])
    await expect(tokens.verify(one.accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  })

  test('without a terminal and without --yes nothing is done', async () => {
    const { accessToken, sid } = await logIn(newUser())
    expect((await revoke(['session', sid])).exitCode).toBe(2)
    await tokens.verify(accessToken)
  })

  test('a session, by its id alone', async () => {
    const user = newUser()
    const [one, other] = [await logIn(user), await logIn(user)]
    const asked = await revoke(['session', one.sid], { answer: true })
    expect(asked.stderr).toContain(`user "${user}"`)
    await expect(tokens.sessions.refresh(one.refreshToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    await tokens.verify(other.accessToken)
  })

  test('a token by itself needs the key, and its jti does not', async () => {
    const user = newUser()
    const [one, other] = [await logIn(user), await logIn(user)]
    const keyless = await revoke(['token', one.accessToken, '--yes'])
    expect(keyless.exitCode).toBe(2)
    expect(keyless.stderr).toContain('JWT_SECRET_KEY')
    expect((await revoke(['token', '-', '--yes'], { env, input: one.accessToken })).exitCode).toBe(0)
    await expect(tokens.verify(one.accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    const { jti = '', exp } = await tokens.verify(other.accessToken)
    expect((await revoke(['token', '--jti', jti, '--yes'])).exitCode).toBe(2)
    expect((await revoke(['token', '--jti', jti, '--expires', String(exp), '--yes'])).exitCode).toBe(0)
    await expect(tokens.verify(other.accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    await tokens.verify(other.refreshToken, { type: 'refresh' })
  })

  test('a token that is not genuine is not revoked: its exp may be a lie', async () => {
    const { accessToken } = await logIn(newUser())
    const forged = `${accessToken.slice(0, -4)}AAAA`
    expect((await revoke(['token', forged, '--yes'], { env })).exitCode).toBe(1)
    await tokens.verify(accessToken)
  })

  test('a key, with a warning where it is one of the configuration', async () => {
    const asked = await revoke(['key', tokens.keys.current ?? ''], { env, answer: false })
    expect(asked.stderr).toContain('every new token is refused')
    const { exitCode, json } = await revoke(['key', 'old-key', '--yes', '--json'])
    expect(exitCode).toBe(0)
    expect(json()).toMatchObject({ revoked: { kind: 'key', id: 'old-key', startedUpTo: null } })
  })

  test('a user of another issuer, which is not our user of that name', async () => {
    const user = newUser()
    const { accessToken } = await logIn(user)
    const args = ['user', user, '--issuer', 'https://idp.example', '--yes', '--json']
    const { json } = await revoke(args)
    expect(json()).toMatchObject({ event: { kind: 'user', id: user, issuer: 'https://idp.example' } })
    await tokens.verify(accessToken)
  })

  test.each<[kind: string, ...args: string[]]>([
    ['token', '--jti', 'a', '--expires', 'never'],
    ['session', 'b'],
    ['user', 'c'],
    ['key', 'd'],
    ['all'],
  ])('tokens of another issuer, by %s, and none of another one', async (...args) => {
    const foreign = createForeign(`https://${args[0]}.example`, { kid: 'd' })
    const other = createForeign('https://other.example', { kid: 'd' })
    const seconds = Math.floor(systemClock() / 1000)
    const claims = { jti: 'a', sid: 'b', sub: 'c', iat: seconds - 300, exp: seconds + 600 }
    const issuers = [foreign.trust(), other.trust({ subjectPrefix: 'other:' })]
    const receiver = new TokenManager({ config, store: createSqliteStore(database), issuers })
    const tokensOf = [foreign.sign(claims), other.sign(claims)] as const
    for (const token of tokensOf) await receiver.verify(token)
    expect((await revoke([...args, '--issuer', foreign.issuer, '--yes'])).exitCode).toBe(0)
    await expect(receiver.verify(tokensOf[0])).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    await receiver.verify(tokensOf[1])
  })

  test.each(['session', 'user', 'key'])(
    'a %s: question, result and JSON say whose tokens are covered',
    async (kind) => {
      const id = newUser()
      const own = await revoke([kind, id], { answer: true })
      for (const text of [own.stderr, own.stdout]) expect(text).toContain('need --issuer <name>')
      const other = await revoke([kind, id, '--issuer', 'old-app'], { answer: true })
      for (const text of [other.stderr, other.stdout]) expect(text).toContain('"old-app"')
      const issuerOf = async (more: readonly string[]) =>
        (await revoke([kind, id, '--yes', '--json', ...more])).json<{ revoked: { issuer?: unknown } }>()
          .revoked.issuer
      expect(await issuerOf([])).toBeNull()
      expect(await issuerOf(['--issuer', 'own'])).toBeNull()
      expect(await issuerOf(['--issuer', 'old-app'])).toBe('old-app')
    },
  )

  test('--yes prints the effect on stderr, and stdout stays one JSON document', async () => {
    const { stderr, json } = await revoke(['user', newUser(), '--yes', '--json'])
    expect(stderr).toContain('need --issuer <name>')
    expect(stderr).toContain(path)
    expect(json()).toMatchObject({ revoked: { kind: 'user', issuer: null } })
  })

  test('a token of a legacy issuer needs --issuer, and is refused with it', async () => {
    const legacySecret = randomBytes(32).toString('base64url')
    const acceptUntil = new Date(systemClock() + 86_400_000)
    const issuers = [
      trustLegacyIssuer({
        issuer: 'old-app',
        withoutIss: true,
        secret: legacySecret,
        acceptUntil,
        maxTokenAge: '15m',
      }),
    ]
    const both = new TokenManager({ config, issuers, store: createSqliteStore(database) })
    await both.ready()
    const jti = newUser()
    const token = await new SignJWT({ sub: newUser(), jti })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(Buffer.from(legacySecret))
    await both.verify(token)
    const unknown = await revoke(['token', token, '--yes'], { env })
    expect(unknown.exitCode).toBe(1)
    expect(unknown.stderr).toContain('--issuer <name> --jti <id>')
    const byId = ['token', '--jti', jti, '--expires', 'never', '--yes']
    expect((await revoke(byId)).stdout).toContain('need --issuer <name>')
    await both.verify(token)
    expect((await revoke([...byId, '--issuer', 'old-app'])).exitCode).toBe(0)
    await expect(both.verify(token)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  })

  test.each([
    ['a year', '2026'],
    ['a date', '2099-01-01'],
    ['a time without a zone', '2099-01-01T00:00'],
    ['words', 'Jan 1 2099 00:00 GMT'],
    ['an epoch that is past', '1700000000'],
    ['a time that is past', '2020-01-01T00:00:00Z'],
    ['nothing', ''],
  ])('--expires with %s is wrong usage', async (_, expires) => {
    expect((await revoke(['token', '--jti', 'x', '--expires', expires, '--yes'])).exitCode).toBe(2)
  })

  test.each(['2099-01-01T00:00Z', '2099-01-01T00:00:00.5+09:00', '4070908800', 'never'])(
    '--expires %s',
    async (expires) => {
      expect((await revoke(['token', '--jti', newUser(), '--expires', expires, '--yes'])).exitCode).toBe(0)
    },
  )

  test('an empty --issuer revokes nothing, of any kind', async () => {
    const { accessToken, sid } = await logIn('empty-issuer')
    const targets = [
      ['all'],
      ['user', 'empty-issuer'],
      ['session', sid],
      ['key', 'unused-key'],
      ['token', accessToken],
      ['token', '--jti', 'x', '--expires', 'never'],
    ]
    for (const target of targets) {
      expect((await revoke([...target, '--issuer', '', '--yes'], { env })).exitCode, target[0]).toBe(2)
    }
    expect((await revoke(['all', '--issuer', 'own', '--yes'])).exitCode).toBe(2)
    await tokens.verify(accessToken)
  })

  test('options of another kind revoke nothing', async () => {
    const { accessToken } = await logIn('wrong-options')
    for (const more of [
      ['--jti', 'x'],
      ['--expires', 'never'],
    ]) {
      expect((await revoke(['user', 'wrong-options', '--yes', ...more])).exitCode).toBe(2)
    }
    expect((await revoke(['token', accessToken, '--yes', '--expires', 'never'], { env })).exitCode).toBe(2)
    await tokens.verify(accessToken)
  })

  test('--json has the event for the audit log, with its actor and note', async () => {
    const user = newUser()
    const { json } = await revoke(['user', user, '--yes', '--json', '--note', 'laptop stolen'])
    expect(json()).toMatchObject({
      revoked: { kind: 'user', id: user, sessionsLeft: 0 },
      event: { actor: expect.stringMatching(/^cli:./) as string, note: 'laptop stolen', reason: 'requested' },
    })
    const named = await revoke(['user', user, '--yes', '--json', '--actor', 'ops:grace'])
    expect(named.json()).toMatchObject({ event: { actor: 'ops:grace', note: null } })
  })

  test('everything', async () => {
    const [one, other] = [await logIn(newUser()), await logIn(newUser())]
    const asked = await revoke(['all'], { answer: true })
    expect(asked.stderr).toContain('Everybody has to log in again')
    for (const { accessToken } of [one, other]) {
      await expect(tokens.verify(accessToken)).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
    }
    await tokens.verify((await logIn(newUser())).accessToken)
  })
})

test('prune drops what has ended step by step, and nothing else', async () => {
  const user = newUser()
  const { accessToken } = await logIn(user)
  // As in a file that has been in use for a day: a new one trusts no clock yet.
  database.exec(`REPLACE INTO tokenlib_clock (id, trusted) VALUES (1, ${systemClock()})`)
  const insert = database.prepare(
    `INSERT INTO tokenlib_sessions (sid, user, generation, started_at, last_used_at, expires_at, until, moved_at)
     VALUES (?, ?, 0, 1, 1, 1, 1, 1)`,
  )
  for (const sid of ['one', 'two', 'three']) insert.run(sid, user)
  const { exitCode, stderr, json } = await runCommand(['prune', '--batch', '2', '--json'], {
    env: withoutKey,
  })
  expect([exitCode, stderr]).toEqual([0, '2 rows dropped\n'])
  expect(json()).toMatchObject({ dropped: 3 })
  await tokens.verify(accessToken)
  expect((await runCommand(['prune'], { env: withoutKey })).stdout).toContain('0 rows')
})

test('a database that no application has used is taken for a mistake, and stays empty', async () => {
  const empty = join(mkdtempSync(join(tmpdir(), 'tokenlib-cli-')), 'empty.db')
  const other = new DatabaseSync(empty)
  other.exec('CREATE TABLE own (id INTEGER)')
  for (const args of [['sessions', 'ada'], ['revoke', 'all', '--yes'], ['prune']]) {
    expect((await runCommand([...args, '--store', `sqlite:${empty}`])).exitCode).toBe(2)
  }
  expect((await runCommand(['sessions', 'ada', '--namespace', 'other_'], { env: withoutKey })).exitCode).toBe(
    2,
  )
  expect(other.prepare('SELECT name FROM sqlite_master').all()).toHaveLength(1)
  other.close()
})

test('no output has a secret, a signature, a refresh token or a private key', async () => {
  const { accessToken, refreshToken, sid } = await logIn(newUser())
  const secrets = [SECRET, ...[accessToken, refreshToken].map((token) => token.split('.')[2] ?? '')]
  const calls = [
    ['inspect', accessToken],
    ['inspect', `${accessToken}=`],
    ['inspect', `${accessToken}.x`],
    ['verify', accessToken],
    ['verify', refreshToken],
    ['verify', `${accessToken}x`],
    ['verify', accessToken, refreshToken],
    ['sessions', 'ada'],
    ['sessions', accessToken],
    ['revoke', 'token', refreshToken],
    ['revoke', 'token', accessToken, '--yes'],
    ['revoke', accessToken, '--yes'],
    ['revoke', 'user', accessToken, '--yes'],
    [accessToken],
    ['inspect', `--${accessToken}`],
    ['revoke', 'session', sid, '--yes'],
    ['prune'],
    ['version'],
    ['help'],
  ]
  for (const args of calls) {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await runCommand([...args, ...more], { env, answer: false })
      for (const secret of secrets) expect((stdout + stderr).includes(secret), args[0]).toBe(false)
    }
  }
})
