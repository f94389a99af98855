import { expect } from 'vitest'
import { PassThrough } from 'node:stream'
import {
  acceptUpgrade,
  type AuthenticatedUpgrade,
  refreshImplicitly,
  type TokenManager,
  type TokenPair,
} from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { createClock, withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'
import { createRevocable, outcomeOf, toPair } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'

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
  scopesRequired: [(tokens, { accessToken }) => tokens.scopesRequired('read')(withBearer(accessToken))],
  anyScopeRequired: [
    (tokens, { accessToken }) => tokens.anyScopeRequired('read', 'write')(withBearer(accessToken)),
  ],
  require: [
    (tokens, { accessToken }) => tokens.require()(withBearer(accessToken)),
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
  verifyToken: [
    (tokens, { accessToken }) => tokens.verifyToken(accessToken),
    (tokens, { refreshToken }) => tokens.verifyToken(refreshToken, { type: 'refresh' }),
    (tokens, { accessToken }) =>
      tokens.verifyToken(accessToken, { type: 'any', fresh: true, scopes: ['read'] }),
  ],
  inspectToken: [
    (tokens, { accessToken }) => tokens.inspectToken(accessToken),
    (tokens, { refreshToken }) => tokens.inspectToken(refreshToken),
  ],
  authenticateUpgrade: [
    (tokens, { accessToken }) => tokens.authenticateUpgrade(withBearer(accessToken)),
    (tokens, { accessToken }) =>
      tokens.authenticateUpgrade(createRequest({ path: `/?token=${accessToken}` })),
    (tokens, { accessToken }) =>
      tokens.authenticateUpgrade(
        createRequest({ headers: { 'sec-websocket-protocol': `bearer, ${accessToken}` } }),
      ),
    (tokens, { refreshToken }) => tokens.authenticateUpgrade(withBearer(refreshToken), { type: 'refresh' }),
  ],
  closeWhenInvalid: [watchSocket],
  // Last, because they use the token up.
  refresh: [
    (tokens, { refreshToken }) => tokens.refresh(refreshToken),
    (tokens, { refreshToken }) => tokens.refresh(withBearer(refreshToken)),
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
  [
    'config',
    'clock',
    'hasReplica',
    'issuers',
    'keepsRevocations',
    'keepsSessions',
    'keyId',
    'ready',
    'health',
    'close',
    'isClosed',
    'formatError',
    'observe',
    'on',
    'readClient',
    'readReplica',
    'reportFailedLogin',
    'setDescribeUser',
    'setSubjectGetter',
    'setTokenBlocklist',
    'setCallbackTokenBlocklist',
  ],
  ['createAccessToken', 'createRefreshToken', 'createTokenPair', 'listSessions', 'getSession'],
  ['createAccessTokenAsync', 'createRefreshTokenAsync', 'setKeys', 'jwks'],
  // Takes no token, but other JWTs of issuers, and says whether they were used before.
  ['verifyIssuedJwt', 'toSubject'],
  [
    'logout',
    'logoutRequest',
    'revokeToken',
    'revokeSession',
    'revokeOtherSessions',
    'revokeUser',
    'revokeKey',
    'revokeAll',
  ],
  ['getTokenFromRequest', 'readRevocableToken', 'verifyTokenWithoutRevocation'],
].flat()

/** How a log-in can end. */
const ENDS: Readonly<Record<string, (tokens: TokenManager, pair: TokenPair) => Promise<unknown>>> = {
  logout: async (tokens, { accessToken }) => tokens.logout(await tokens.verifyToken(accessToken)),
  logoutRequest: (tokens, { accessToken }) => tokens.logoutRequest(withBearer(accessToken)),
  async revokeToken(tokens, { accessToken, refreshToken }) {
    await tokens.revokeToken(await tokens.verifyToken(accessToken))
    await tokens.revokeToken(await tokens.verifyToken(refreshToken, { type: 'refresh' }))
  },
  revokeSession: async (tokens, { accessToken }) =>
    tokens.revokeSession(await tokens.verifyToken(accessToken)),
  async revokeOtherSessions(tokens) {
    const other = await tokens.createTokenPair({ uid: 'ada' })
    await tokens.revokeOtherSessions(await tokens.verifyToken(other.accessToken))
  },
  revokeUser: (tokens) => tokens.revokeUser('ada'),
  revokeKey: (tokens) => tokens.revokeKey(tokens.keyId ?? ''),
  revokeAll: (tokens) => tokens.revokeAll(),
  async setTokenBlocklist(tokens, { accessToken, refreshToken }) {
    tokens.setTokenBlocklist((token) => token === accessToken || token === refreshToken)
  },
}

/** Rejects once the socket of a token is closed; resolves if it is open after two checks. */
function watchSocket(tokens: TokenManager, { accessToken }: TokenPair): Promise<unknown> {
  const payload = tokens.verifyTokenWithoutRevocation(accessToken)
  const upgrade = { payload, token: { token: accessToken } } as unknown as AuthenticatedUpgrade<
    typeof payload
  >
  return new Promise((resolve, reject) => {
    const close = (code: number): void =>
      reject(Object.assign(new Error('closed'), { code: code === 4401 ? 'TOKEN_REVOKED' : `closed ${code}` }))
    const stop = tokens.closeWhenInvalid({ close, addEventListener: () => undefined }, upgrade, {
      every: '1s',
    })
    setTimeout(() => {
      stop()
      resolve('open')
    }, 1500)
  })
}

function createTokens(): TokenManager {
  const clock = createClock()
  const { tokens } = createRevocable(
    { JWT_TOKEN_LOCATION: ['headers', 'cookies'], JWT_REFRESH_GRACE: 0 },
    { clock },
  )
  tokens.setSubjectGetter((uid) => uid)
  return tokens
}

const login = (tokens: TokenManager): Promise<TokenPair> =>
  tokens.createTokenPair({ uid: 'ada' }, { scopes: ['read'], access: { fresh: true } })

/** What each way in says to a pair of tokens. */
async function tryAll(tokens: TokenManager, pair: TokenPair): Promise<Record<string, string[]>> {
  const outcomes: Record<string, string[]> = {}
  const sockets = tryEach(ENTRIES['closeWhenInvalid'] ?? [], tokens, pair)
  for (const [name, entries] of ALL_ENTRIES) {
    if (name !== 'closeWhenInvalid') outcomes[name] = await tryEach(entries, tokens, pair)
  }
  return { ...outcomes, closeWhenInvalid: await sockets }
}

async function tryEach(entries: readonly Entry[], tokens: TokenManager, pair: TokenPair): Promise<string[]> {
  const outcomes: string[] = []
  for (const entry of entries) outcomes.push(await outcomeOf(entry(tokens, pair)))
  return outcomes
}

const everywhere = (outcome: string): Record<string, string[]> =>
  Object.fromEntries(ALL_ENTRIES.map(([name, entries]) => [name, entries.map(() => outcome)]))

describeAttacks('ATK-69 a revoked token on another way in (CVE-2020-10594, GHSA-339w class)', () => {
  ownAttack('each of the ways to end a log-in, on every way in', async () => {
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
    const names = new Set<string>(Object.keys(tokens))
    for (let type: object = Object.getPrototypeOf(tokens) as object; type !== Object.prototype;) {
      for (const name of Object.getOwnPropertyNames(type)) names.add(name)
      type = Object.getPrototypeOf(type) as object
    }
    names.delete('constructor')
    expect([...names].toSorted()).toEqual([...Object.keys(ENTRIES), ...NO_ENTRIES].toSorted())
    expect(Object.keys(ENDS).filter((name) => !names.has(name))).toEqual([])
    expect(await tryAll(tokens, await login(tokens))).toEqual(everywhere('ok'))
  })

  ownAttack('the successor of a revoked pair, and the pair that is being made', async () => {
    for (const end of [ENDS['logout'], ENDS['revokeUser'], ENDS['revokeAll'], ENDS['revokeSession']]) {
      const tokens = createTokens()
      const first = await login(tokens)
      const second = toPair(await tokens.refresh(first.refreshToken))
      expect(await outcomeOf(tokens.verifyToken(second.accessToken))).toBe('ok')
      // By the old access token: the session is one, whichever of its tokens names it.
      await end?.(tokens, first)
      for (const pair of [first, second]) {
        expect(await outcomeOf(tokens.verifyToken(pair.accessToken))).toBe('TOKEN_REVOKED')
        expect(await outcomeOf(tokens.refresh(pair.refreshToken))).toBe('TOKEN_REVOKED')
      }
    }
  })

  ownAttack('a check that is switched off is switched off by its exact name only', async () => {
    const tokens = createTokens()
    const { accessToken } = await login(tokens)
    await tokens.revokeAll()
    const options = [
      { skipRevocation: 1 },
      { skiprevocation: true },
      { revocation: false },
      { skipRevocation: 'false' },
    ]
    for (const policy of options) {
      expect(() => tokens.require(policy as object)).toThrow(TypeError)
      await expect(tokens.verifyToken(accessToken, policy as object)).rejects.toThrow(TypeError)
    }
    const inherited = Object.create({ skipRevocation: true }) as object
    await expect(tokens.verifyToken(accessToken, inherited)).rejects.toThrow(TypeError)
    expect(() => tokens.require(inherited)).toThrow(TypeError)
    const withOwn = Object.assign(Object.create({ skipRevocation: true }) as object, {
      type: 'access' as const,
    })
    expect(await outcomeOf(tokens.verifyToken(accessToken, withOwn))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.require(withOwn)(withBearer(accessToken)))).toBe('TOKEN_REVOKED')
    expect(await outcomeOf(tokens.verifyToken(accessToken, { skipRevocation: true }))).toBe('ok')
  })
})
