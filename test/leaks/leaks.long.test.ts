import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { keyPairFor } from '../helpers/keys.js'
import { createManager, SECRET, withBearer } from '../helpers/manager.js'
import { createJsonRequest, createRequest, csrfOf } from '../helpers/requests.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { current, searchDuring } from './current-record.js'
import { createLeakRecord } from './leak-record.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

const PLANTED = 'kW7Qz0mXvT3-Jp5bLr9_Hc2d'
const PIECE = PLANTED.slice(8, 16)

/** What is found, of a planted secret and of those that come up, while a function runs under a watch of its own. */
async function watch(run: () => unknown): Promise<string[]> {
  const record = createLeakRecord()
  record.addSecret({ kind: 'a planted secret', text: PLANTED })
  const leaks = await searchDuring(record, run)
  return leaks.map(({ secret, origin }) => `${secret} in ${origin}`)
}

afterEach(() => vi.restoreAllMocks())

// What is made out here is not watched: the piece is shown where it says, and nowhere before.
const schema = z.object({ age: z.number(`${PIECE} is no age`) })
const { tokens, clock, store } = createRevocable()
const strict = new TokenManager({ config: tokens.config, clock, claims: schema })
const named = createManager({ JWT_TOKEN_LOCATION: 'query', JWT_QUERY_STRING_NAME: PIECE }).tokens
const issuing = new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_ENCODE_ISSUER: PIECE })
const plain = tokens.createAccessToken({ uid: 'ada' })
const claiming = tokens.createAccessToken({ uid: 'ada', note: PIECE })
tokens.setCallbackTokenBlocklist(({ length }) => {
  if (length > 0 && isBroken) throw new Error(`no answer from ${PIECE}`)
  return false
})
let isBroken = false

async function whileBroken(run: () => Promise<unknown>): Promise<void> {
  isBroken = true
  await outcomeOf(run())
  isBroken = false
}

const SIGHTS: readonly [where: string, show: () => unknown][] = [
  [
    'the message of a TokenDecodeError',
    () => outcomeOf(named.accessTokenRequired(createRequest({ path: `/?${PIECE}=1&${PIECE}=2` }))),
  ],
  ['the JSON of a ClaimsValidationError', () => outcomeOf(strict.verify(plain))],
  [
    'an inspected RevocationUnavailableError',
    () => whileBroken(() => tokens.verify(tokens.createAccessToken({ uid: 'ada' }))),
  ],
  [
    'the message of a TypeError',
    () => expect(() => strict.createAccessToken({ uid: 'ada', age: '1' as never })).toThrow(TypeError),
  ],
  ['the JSON of a token event "issued"', () => tokens.createAccessToken({ uid: PIECE })],
  ['the JSON of a token event "revoked"', () => tokens.revoke.user(PIECE)],
  ['console.log', () => console.log('%s!', PIECE)],
  ['console.error', () => console.error(new Error(PIECE))],
  ['process.stdout', () => process.stdout.write(PIECE)],
  ['process.stderr', () => process.stderr.write(Buffer.from(PIECE))],
  ['the JSON of a TokenConfig', () => new TokenConfig({ JWT_ENCODE_ISSUER: PIECE })],
  ['the JSON of a TokenManager', () => new TokenManager({ config: issuing })],
  ['the JSON of a TokenPayload', () => createManager().tokens.verify(claiming)],
]

describe('what is shown is searched', () => {
  test.each(SIGHTS)('%s', async (where, show) => {
    for (const method of ['log', 'error'] as const) vi.spyOn(console, method).mockImplementation(() => {})
    for (const output of [process.stdout, process.stderr])
      vi.spyOn(output, '_write').mockImplementation((_chunk, _encoding, done) => done())
    expect(await watch(show)).toEqual([`a planted secret in ${where}`])
  })

  test('a warning', async () => {
    const { tokens } = createManager()
    tokens.on('issued', () => {
      throw new Error(PIECE)
    })
    const warned = new Promise((resolve) => void process.once('warning', resolve))
    const leaks = await watch(async () => {
      tokens.createAccessToken({ uid: 'ada' })
      await warned
    })
    // Node writes it out before it tells us.
    expect(leaks).toEqual([expect.stringMatching(/^a planted secret in (?:a warning|process\.stderr)$/)])
  })

  test('a session and a handshake', async () => {
    const { accessToken } = await tokens.sessions.open({ uid: 'bob', note: PIECE }, { userAgent: PIECE })
    // A token is remembered when it comes for the second time: then no payload is made any more.
    for (let times = 0; times < 2; times++) await tokens.verify(accessToken)
    expect(await watch(() => tokens.sessions.list('bob'))).toEqual([
      'a planted secret in the JSON of a SessionInfo',
    ])
    expect(await watch(() => tokens.sockets.authenticate(withBearer(accessToken)))).toEqual([
      'a planted secret in the JSON of a AuthenticatedUpgrade',
    ])
  })
})

const EVERYWHERE: TokenConfigOptions = { JWT_TOKEN_LOCATION: ['headers', 'cookies', 'json', 'query'] }
const everywhere = createManager(EVERYWHERE).tokens
const stranger = createManager({ ...EVERYWHERE, JWT_SECRET_KEY: `${SECRET}!` }).tokens
const foreign = stranger.createAccessToken({ uid: 'ada' })
const pem = keyPairFor('RS256').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()

const refuse = async (request: Request): Promise<string> => {
  await outcomeOf(everywhere.accessTokenRequired(request))
  return foreign
}
const configure = (options: TokenConfigOptions): TokenConfig => new TokenConfig(options)

/** Each does something with a secret, and returns it. */
const SECRETS: readonly [kind: string, how: string, use: () => string | Promise<string>][] = [
  ['a token that was made', 'by createAccessToken', () => tokens.createAccessToken({ uid: 'ada' })],
  ['a token that was made', 'by createRefreshToken', () => tokens.createRefreshToken({ uid: 'ada' })],
  [
    'a token that was made',
    'as the first of a pair',
    async () => (await tokens.sessions.open({ uid: 'ada' })).accessToken,
  ],
  [
    'a token that was made',
    'as the second of a pair',
    async () => (await tokens.sessions.open({ uid: 'ada' })).refreshToken,
  ],
  [
    'a token that was made',
    'by refresh',
    async () =>
      (await tokens.sessions.refresh((await tokens.sessions.open({ uid: 'ada' })).refreshToken)).accessToken,
  ],
  ['a token that was handed in', 'to verify', async () => (await outcomeOf(tokens.verify(foreign)), foreign)],
  [
    'a token that was handed in',
    'to refresh',
    async () => (await outcomeOf(tokens.sessions.refresh(foreign)), foreign),
  ],
  [
    'a token that was handed in',
    'to verifyWithoutRevocation',
    () => (expect(() => internalsOf(tokens).verifyWithoutRevocation(foreign)).toThrow(), foreign),
  ],
  ['a token in a request', 'in a header', () => refuse(withBearer(foreign))],
  [
    'a token in a request',
    'in a cookie',
    () => refuse(createRequest({ cookies: { access_token_cookie: foreign } })),
  ],
  ['a token in a request', 'in the query', () => refuse(createRequest({ path: `/?token=${foreign}` }))],
  ['a token in a request', 'in the body', () => refuse(createJsonRequest({ access_token: foreign }))],
  ['a CSRF value', 'of a token that is made', () => csrfOf(everywhere.createAccessToken({ uid: 'ada' }))],
  ['a CSRF value', 'of a token that comes in', async () => csrfOf(await refuse(withBearer(foreign)))],
  [
    'a CSRF value in a request',
    'that belongs to another token',
    async () => {
      const headers = { 'x-csrf-token': PLANTED.toLowerCase() }
      await refuse(createRequest({ method: 'POST', headers, cookies: { access_token_cookie: plain } }))
      return PLANTED.toLowerCase()
    },
  ],
  [
    'JWT_SECRET_KEY as text',
    'given',
    () => configure({ JWT_SECRET_KEY: PLANTED.toUpperCase() }).JWT_SECRET_KEY as string,
  ],
  [
    'JWT_PREVIOUS_SECRET_KEY as text',
    'set later',
    () => (configure({}).JWT_PREVIOUS_SECRET_KEY = PLANTED.toUpperCase()),
  ],
  [
    'JWT_PRIVATE_KEY, line 7 of its PEM text',
    'given',
    () => (configure({ JWT_PRIVATE_KEY: pem }).JWT_PRIVATE_KEY as string).split('\n')[7] ?? '',
  ],
]

describe('what is secret is known', () => {
  test.each(SECRETS)('%s %s', async (kind, _how, use) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    expect(await watch(async () => console.log(`|${(await use()).slice(-7)}|`))).toEqual([])
    expect(await watch(async () => console.log(`|${(await use()).slice(-8)}|`))).toContain(
      `${kind} in console.log`,
    )
    expect(log).toHaveBeenCalledTimes(2)
  })
})

test('a manager with a store is looked at, and a request has its token looked at', async () => {
  const record = createLeakRecord()
  await searchDuring(record, async () => {
    const { config } = tokens
    await new TokenManager({ config, clock, store }).getTokenFromRequest(withBearer(claiming))
  })
  // The manager and the token.
  expect(record.counts().shown.objects).toBe(2)
})

test('this file is watched, and what it does is counted', async () => {
  const record = current.record
  const count = () => (record?.settle(), record?.counts())
  const before = count()
  const { tokens } = createManager({ JWT_SECRET_KEY: 'a-secret-that-no-other-test-of-this-file-has' })
  const token = tokens.createAccessToken({ uid: 'ada' })
  expect(await outcomeOf(tokens.verify(token.slice(1)))).toBe('TOKEN_INVALID')
  expect(await tokens.getTokenFromRequest(withBearer(token))).toMatchObject({ token })
  const after = count()
  expect(after?.shown.errors).toBe((before?.shown.errors ?? 0) + 1)
  // issued and rejected
  expect(after?.shown.events).toBe((before?.shown.events ?? 0) + 2)
  // TokenConfig, TokenManager and RequestToken
  expect(after?.shown.objects).toBe((before?.shown.objects ?? 0) + 3)
  expect(after?.secrets).toBeGreaterThan((before?.secrets ?? 0) + 3)
})

test('no test file loads the library again: later files of its thread would not be watched', () => {
  const folder = fileURLToPath(new URL('../', import.meta.url))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.includes('node_modules'),
  )
  expect(files.length).toBeGreaterThan(200)
  const reset = /\bvi\.(?:resetModules|mock|doMock)\(/
  expect(files.filter((path) => reset.test(readFileSync(join(folder, path), 'utf8')))).toEqual([])
})
