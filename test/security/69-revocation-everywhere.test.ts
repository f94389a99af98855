import { expect } from 'vitest'
import { PassThrough } from 'node:stream'
import {
  acceptUpgrade,
  type AuthenticatedUpgrade,
  refreshImplicitly,
  TokenManager,
  type TokenPair,
} from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createTimedClock, withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'
import { createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { internalsOf } from '../../packages/tokenlib/src/sessions/internals.js'

type Entry = (tokens: TokenManager, pair: TokenPair) => Promise<unknown>

/** Everything of a manager that takes a token, and what it is given here: each must ask whether it is revoked. */
const ENTRIES: Readonly<Record<string, readonly Entry[]>> = {
  tokenRequired: [
    (tokens, { accessToken }) => tokens.tokenRequired(withBearer(accessToken)),
    (tokens, { refreshToken }) => tokens.tokenRequired(withBearer(refreshToken)),
  ],
  accessTokenRequired: [(tokens, { accessToken }) => tokens.accessTokenRequired(withBearer(accessToken))],
  refreshTokenRequired: [(tokens, { refreshToken }) => tokens.refreshTokenRequired(withBearer(refreshToken))],
  freshTokenRequired: [(tokens, { accessToken }) => tokens.freshTokenRequired(withBearer(accessToken))],
  accessTokenOptional: [(tokens, { accessToken }) => tokens.accessTokenOptional(withBearer(accessToken))],
  getCurrentSubject: [(tokens, { accessToken }) => tokens.getCurrentSubject(withBearer(accessToken))],
  require: [
    (tokens, { accessToken }) => tokens.require()(withBearer(accessToken)),
    (tokens, { accessToken }) => tokens.require({ scopes: ['read'] })(withBearer(accessToken)),
    (tokens, { accessToken }) => tokens.require({ anyScope: ['read', 'write'] })(withBearer(accessToken)),
    (tokens, { accessToken }) => tokens.require({ optional: true, csrf: false })(withBearer(accessToken)),
    (tokens, { refreshToken }) => tokens.require({ type: 'refresh' })(withBearer(refreshToken)),
    (tokens, { accessToken }) => tokens.require({ type: 'any', fresh: true })(withBearer(accessToken)),
    (tokens, { accessToken }) =>
      tokens.require({ locations: ['query'] })(createRequest({ path: `/?token=${accessToken}` })),
    (tokens, { accessToken }) =>
      tokens.require({ locations: ['cookies'] })(
        createRequest({ cookies: { access_token_cookie: accessToken } }),
      ),
  ],
  verify: [
    (tokens, { accessToken }) => tokens.verify(accessToken),
    (tokens, { refreshToken }) => tokens.verify(refreshToken, { type: 'refresh' }),
    (tokens, { accessToken }) => tokens.verify(accessToken, { type: 'any', fresh: true, scopes: ['read'] }),
  ],
  'internals.inspectToken': [
    (tokens, { accessToken }) => internalsOf(tokens).inspectToken(accessToken),
    (tokens, { refreshToken }) => internalsOf(tokens).inspectToken(refreshToken),
  ],
  'sockets.authenticate': [
    (tokens, { accessToken }) => tokens.sockets.authenticate(withBearer(accessToken)),
    (tokens, { accessToken }) =>
      tokens.sockets.authenticate(createRequest({ path: `/?token=${accessToken}` })),
    (tokens, { accessToken }) =>
      tokens.sockets.authenticate(
        createRequest({ headers: { 'sec-websocket-protocol': `bearer, ${accessToken}` } }),
      ),
    (tokens, { refreshToken }) => tokens.sockets.authenticate(withBearer(refreshToken), { type: 'refresh' }),
  ],
  'sockets.closeWhenInvalid': [watchSocket],
  // Last, because they use the token up.
  'sessions.refresh': [
    (tokens, { refreshToken }) => tokens.sessions.refresh(refreshToken),
    (tokens, { refreshToken }) => tokens.sessions.refresh(withBearer(refreshToken)),
  ],
}

/** What takes the token of a request together with a manager. */
const ENTRIES_BESIDE: Readonly<Record<string, readonly Entry[]>> = {
  acceptUpgrade: [
    async (tokens, { accessToken }) => {
      const connection = new PassThrough()
      const upgrade = await acceptUpgrade(tokens, withBearer(accessToken), connection)
      if (upgrade === null) throw new Refusal(String(connection.read()).split('\r\n\r\n')[1] ?? '')
    },
  ],
  createSessionRoutes: (
    [
      ['GET', 'session'],
      ['GET', 'sessions'],
      ['DELETE', 'sessions'],
      ['POST', 'refresh'],
    ] as const
  ).map(([method, name]) => async (tokens, { accessToken, refreshToken }) => {
    const routes = createSessionRoutes(tokens, { logIn: () => null })
    const headers = { authorization: `Bearer ${name === 'refresh' ? refreshToken : accessToken}` }
    const response = await routes.handle(new Request(`http://localhost/auth/${name}`, { method, headers }))
    if (!response?.ok) throw new Refusal((await response?.text()) ?? '')
  }),
  refreshImplicitly: [
    async (tokens, { refreshToken }) => {
      const request = createRequest({ cookies: { refresh_token_cookie: refreshToken } })
      const refreshed = await refreshImplicitly(tokens, request)
      // A session that is over is not refused here: its cookies are deleted, and the request goes on without them.
      if (!refreshed?.cookieHeader.includes('refresh_token_cookie'))
        throw new Refusal('{"code":"TOKEN_REVOKED"}')
    },
  ],
}

const ALL_ENTRIES = Object.entries({ ...ENTRIES, ...ENTRIES_BESIDE })

/** The answer of a route or a handshake, with the code of its body. */
class Refusal extends Error {
  readonly code: string

  constructor(body: string) {
    super('refused')
    this.code = (JSON.parse(body) as { code: string }).code
  }
}

// What makes tokens, ends them or looks on takes none; the last three say in their documentation that they do not ask.
const NO_ENTRIES = [
  ['config', 'ready', 'health', 'close', 'observe', 'on'],
  ['setSubjectGetter', 'setTokenBlocklist', 'setCallbackTokenBlocklist'],
  ['createAccessToken', 'createRefreshToken', 'sessions.open', 'sessions.list', 'sessions.get'],
  ['sessions.reportFailedLogin', 'keys.current', 'keys.set', 'keys.jwks'],
  ['logout', 'revoke.token', 'revoke.session', 'revoke.user', 'revoke.key', 'revoke.all'],
  ['sessions.end', 'sessions.endOthers', 'sessions.update'],
  ['internals.config', 'internals.formatError', 'internals.now', 'internals.store', 'internals.issuers'],
  ['internals.keepsSessions', 'internals.isClosed', 'internals.readReplica', 'internals.readClient'],
  ['internals.setDescribeUser', 'internals.createToken', 'internals.inspect'],
  ['internals.hasProof', 'internals.createNonce', 'internals.proofs'],
  // Their routes take refresh tokens, and test/routes/device-bound.test.ts revokes them.
  ['internals.devices'],
  // Takes no token, but other JWTs of issuers, and says whether they were used before.
  ['internals.verifyIssuedJwt', 'internals.toSubject'],
  ['getTokenFromRequest', 'internals.readRevocableToken', 'internals.verifyWithoutRevocation'],
].flat()

/** The members of a manager, of its groups and of its internals. */
function namesOf(tokens: TokenManager): string[] {
  const groups = { ...tokens, internals: internalsOf(tokens) }
  const names = new Set<string>(Object.getOwnPropertyNames(TokenManager.prototype))
  names.delete('constructor')
  for (const [name, member] of Object.entries<unknown>(groups)) {
    if (!GROUPS.includes(name)) names.add(name)
    else for (const inner of Object.keys(member as object)) names.add(`${name}.${inner}`)
  }
  return [...names]
}

const GROUPS = ['sessions', 'revoke', 'keys', 'sockets', 'internals']

/** How a login can end. */
const ENDS: Readonly<Record<string, (tokens: TokenManager, pair: TokenPair) => Promise<unknown>>> = {
  logout: async (tokens, { accessToken }) => tokens.logout(await tokens.verify(accessToken)),
  'logout, a request': (tokens, { accessToken }) => tokens.logout(withBearer(accessToken)),
  async 'revoke.token'(tokens, { accessToken, refreshToken }) {
    await tokens.revoke.token(await tokens.verify(accessToken))
    await tokens.revoke.token(await tokens.verify(refreshToken, { type: 'refresh' }))
  },
  'revoke.session': async (tokens, { accessToken }) =>
    tokens.revoke.session(await tokens.verify(accessToken)),
  async 'sessions.end'(tokens, { accessToken }) {
    const { sid = '' } = await tokens.verify(accessToken)
    expect(await tokens.sessions.end(sid, 'ada')).toBe(true)
  },
  async 'sessions.endOthers'(tokens) {
    const other = await tokens.sessions.open({ uid: 'ada' })
    await tokens.sessions.endOthers(await tokens.verify(other.accessToken))
  },
  'revoke.user': (tokens) => tokens.revoke.user('ada'),
  'revoke.key': (tokens) => tokens.revoke.key(tokens.keys.current ?? ''),
  'revoke.all': (tokens) => tokens.revoke.all(),
  async setTokenBlocklist(tokens, { accessToken, refreshToken }) {
    tokens.setTokenBlocklist((token) => token === accessToken || token === refreshToken)
  },
}

/** Rejects once the socket of a token is closed; resolves if it is open after two checks. */
function watchSocket(tokens: TokenManager, { accessToken }: TokenPair): Promise<unknown> {
  const payload = internalsOf(tokens).verifyWithoutRevocation(accessToken)
  const upgrade = { payload, token: { token: accessToken } } as unknown as AuthenticatedUpgrade<
    typeof payload
  >
  const watched = new Promise((resolve, reject) => {
    const close = (code: number): void =>
      reject(Object.assign(new Error('closed'), { code: code === 4401 ? 'TOKEN_REVOKED' : `closed ${code}` }))
    const stop = tokens.sockets.closeWhenInvalid({ close, addEventListener: () => undefined }, upgrade, {
      every: '1s',
    })
    clock.scheduler.setTimeout(() => {
      stop()
      resolve('open')
    }, 1500)
  })
  return clock.runUntil(watched)
}

const clock = createTimedClock()

function createTokens(): TokenManager {
  const { tokens } = createRevocable(
    { JWT_TOKEN_LOCATION: ['headers', 'cookies'], JWT_REFRESH_GRACE: 0 },
    { clock },
  )
  tokens.setSubjectGetter((uid) => uid)
  return tokens
}

const login = (tokens: TokenManager): Promise<TokenPair> =>
  tokens.sessions.open({ uid: 'ada' }, { scopes: ['read'], access: { fresh: true } })

/** What each way in says to a pair of tokens. */
async function tryAll(tokens: TokenManager, pair: TokenPair): Promise<Record<string, string[]>> {
  const outcomes: Record<string, string[]> = {}
  const sockets = tryEach(ENTRIES['sockets.closeWhenInvalid'] ?? [], tokens, pair)
  for (const [name, entries] of ALL_ENTRIES) {
    if (name !== 'sockets.closeWhenInvalid') outcomes[name] = await tryEach(entries, tokens, pair)
  }
  return { ...outcomes, 'sockets.closeWhenInvalid': await sockets }
}

async function tryEach(entries: readonly Entry[], tokens: TokenManager, pair: TokenPair): Promise<string[]> {
  const outcomes: string[] = []
  for (const entry of entries) outcomes.push(await outcomeOf(entry(tokens, pair)))
  return outcomes
}

const everywhere = (outcome: string): Record<string, string[]> =>
  Object.fromEntries(ALL_ENTRIES.map(([name, entries]) => [name, entries.map(() => outcome)]))

describeAttacks('a revoked token on another way in (CVE-2020-10594, GHSA-339w class)', () => {
  ownAttack('each of the ways to end a login, on every way in', async () => {
    await Promise.all(
      Object.entries(ENDS).map(async ([name, end]) => {
        const tokens = createTokens()
        const pair = await login(tokens)
        // Verified before: what is remembered of a token must not outlive it.
        await tokens.accessTokenRequired(withBearer(pair.accessToken))
        await end(tokens, pair)
        expect(await tryAll(tokens, pair), name).toEqual(everywhere('TOKEN_REVOKED'))
      }),
    )
  })

  ownAttack('no way in is missing from the list above, and each lets an honest token in', async () => {
    const tokens = createTokens()
    const names = namesOf(tokens)
    expect(names.toSorted()).toEqual([...Object.keys(ENTRIES), ...NO_ENTRIES].toSorted())
    expect(Object.keys(ENDS).filter((name) => !names.includes(name.replace(', a request', '')))).toEqual([])
    expect(await tryAll(tokens, await login(tokens))).toEqual(everywhere('ok'))
  })

  ownAttack('the successor of a revoked pair, and the pair that is being made', async () => {
    for (const end of [ENDS['logout'], ENDS['revoke.user'], ENDS['revoke.all'], ENDS['revoke.session']]) {
      const tokens = createTokens()
      const first = await login(tokens)
      const second = toPair(await tokens.sessions.refresh(first.refreshToken))
      expect(await outcomeOf(tokens.verify(second.accessToken))).toBe('ok')
      // By the old access token: the session is one, whichever of its tokens names it.
      await end?.(tokens, first)
      for (const pair of [first, second]) {
        expect(await outcomeOf(tokens.verify(pair.accessToken))).toBe('TOKEN_REVOKED')
        expect(await outcomeOf(tokens.sessions.refresh(pair.refreshToken))).toBe('TOKEN_REVOKED')
      }
    }
  })

  ownAttack('a check that is switched off is switched off by its exact name only', async () => {
    const tokens = createTokens()
    const { accessToken } = await login(tokens)
    await tokens.revoke.all()
    const options = [
      { skipRevocation: 1 },
      { skiprevocation: true },
      { revocation: false },
      { skipRevocation: 'false' },
    ]
    for (const policy of options) {
      expect(() => tokens.require(policy as object)).toThrow(TypeError)
      await expect(tokens.verify(accessToken, policy as object)).rejects.toThrow(TypeError)
    }
    const inherited = Object.create({ skipRevocation: true }) as object
    await expect(tokens.verify(accessToken, inherited)).rejects.toThrow(TypeError)
    expect(() => tokens.require(inherited)).toThrow(TypeError)
    const withOwn = Object.assign(Object.create({ skipRevocation: true }) as object, {
      type: 'access' as const,
    })
    expect(await outcomeOf(tokens.verify(accessToken, withOwn))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.require(withOwn)(withBearer(accessToken)))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verify(accessToken, { skipRevocation: true }))).toBe('ok')
  })
})
