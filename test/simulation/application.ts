import {
  isTokenError,
  RevocationUnavailableError,
  TokenConfig,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { isTooLate } from '../../packages/tokenlib/src/sessions/refresh.js'
import type { OwnKey } from '../../packages/tokenlib/src/tokens/own-key.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createDoor } from './door.js'
import { type Held, hold, readFacts, type Tokens } from './held.js'
import type { Party, Place, Recorder, Target } from './history.js'
import type { IdentityProvider } from './identity-provider.js'
import type { Process } from './machine.js'
import type { Random } from './random.js'
import type { Settings } from './settings.js'
import type { RevocationStore } from '../../packages/tokenlib/src/revocation/store.js'

/** A real manager with a replica of the store, in one process. Every call is recorded. */
export interface Application extends Place {
  readonly process: Process
  ready(): Promise<void>
  open(user: string): Promise<Tokens | null>
  check(token: Held, isFinal?: boolean): Promise<string>
  /** `refresh` is `null` if the token that was sent is still to be used. */
  refresh(token: Held, party: Party): Promise<{ readonly code: string; readonly tokens: Partial<Tokens> }>
  revoke(target: Target, isEverywhere?: boolean): Promise<string>
  /** Lists the sessions of a user, who may have `limit` of them. */
  countSessions(user: string, limit: number): Promise<void>
  reportHealth(isAtRest?: boolean): Promise<void>
  setKeys(keys: readonly OwnKey[]): void
  /** Answers a request: the session routes, one guarded route, and logouts of the provider. */
  handle(request: Request): Promise<Response>
}

/** What an application is started with. */
export interface ApplicationOptions {
  readonly place: Place
  readonly process: Process
  readonly store: RevocationStore
  readonly keys: readonly OwnKey[]
  readonly provider: IdentityProvider
  readonly random: Random
  readonly settings: Settings
  readonly recorder: Recorder
  readonly worldNow: () => number
}

/** Starts an application. */
export function createApplication(options: ApplicationOptions): Application {
  const { place, process, keys, provider, random, settings, recorder, worldNow } = options
  const { boundMs, whenStale, graceMs, accessLifetimeMs, sessionLifetimeMs, maxSessions } = settings
  const { clock } = process
  const manager = new TokenManager({
    config: new TokenConfig({
      JWT_ACCESS_TOKEN_EXPIRES: `${accessLifetimeMs}ms`,
      JWT_REFRESH_TOKEN_EXPIRES: `${sessionLifetimeMs}ms`,
      JWT_REFRESH_GRACE: `${graceMs}ms`,
      JWT_DECODE_LEEWAY: '10s',
      JWT_TOKEN_LOCATION: ['headers', 'cookies'],
      JWT_REFRESH_COOKIE_PATH: '/auth',
      JWT_VERIFIED_CACHE_SIZE: 200,
      // These are random; looking for known ones at every start and every new key takes longer than the rest.
      JWT_ALLOW_WEAK_SECRET: true,
    }),
    keys,
    issuers: [provider.trusted],
    store: replicate(options.store, { bound: `${boundMs}ms`, whenStale, clock }),
    clock,
    randomBytes: random.bytes,
  })

  // What is under way when a process ends has no answer.
  const record = async <Value>(
    run: () => Promise<Value>,
    note: (event: Place & { t0: number; t1: number; result: string }, value: Value | null) => void,
  ): Promise<Value | null> => {
    const t0 = worldNow()
    let value: Value | null = null
    let result = 'ok'
    try {
      value = await run()
    } catch (error) {
      if (!isTokenError(error)) throw error
      result = error.code
    }
    if (process.isRunning()) note({ ...place, t0, t1: worldNow(), result }, value)
    return value
  }

  return {
    ...place,
    process,
    ready: () => manager.ready(),
    async open(user) {
      const asked = { ...place, t0: worldNow(), t1: Infinity, result: 'asked' }
      recorder.event({ ...asked, op: 'open', user, limit: maxSessions, session: null })
      const pair = await record(
        () => manager.sessions.open({ uid: user }, maxSessions === null ? {} : { maxSessions }),
        (event, opened) =>
          recorder.event({
            ...event,
            op: 'open',
            user,
            limit: maxSessions,
            session: opened && readFacts(opened.accessToken).sid,
          }),
      )
      return pair && { access: hold(pair.accessToken), refresh: hold(pair.refreshToken) }
    },
    async check(token, isFinal = false) {
      let code = 'ok'
      const request = { method: 'GET', url: '/', headers: { authorization: `Bearer ${token.text}` } }
      await record(
        () => manager.accessTokenRequired(request),
        (event) => {
          code = event.result
          recorder.event({ ...event, op: 'check', token: token.facts, isFinal })
        },
      )
      return code
    },
    async refresh(token, party) {
      let code = 'lost'
      const asked = { ...place, t0: worldNow(), t1: Infinity, result: 'asked' }
      recorder.event({ ...asked, op: 'refresh', token: token.facts, party, received: null })
      const made = await record(
        async () => {
          const refreshed = await manager.sessions.refresh(token.text)
          // What the session routes do, and the documentation asks of others.
          if (isTooLate(refreshed))
            throw new RevocationUnavailableError(new Error('The refresh took too long'))
          return refreshed
        },
        (event, answer) => {
          code = event.result
          const received =
            answer && (answer.refreshToken === null ? token.facts : readFacts(answer.refreshToken)).jti
          recorder.event({ ...event, op: 'refresh', token: token.facts, party, received })
        },
      )
      if (made === null) return { code, tokens: {} }
      const refresh = made.refreshToken === null ? token : hold(made.refreshToken)
      return { code, tokens: { access: hold(made.accessToken), refresh } }
    },
    async revoke(target, isEverywhere = false) {
      let code = 'lost'
      const given = isEverywhere ? { everywhere: true } : {}
      const run = (): Promise<unknown> => {
        const { revoke } = manager
        if (target.kind === 'token') {
          return revoke.token({ jti: target.id, ...(target.exp !== undefined && { exp: target.exp }) }, given)
        }
        if (target.kind === 'session') return revoke.session(target.id, given)
        if (target.kind === 'user') return revoke.user(target.id, given)
        return target.kind === 'key' ? revoke.key(target.id, given) : revoke.all(given)
      }
      // It may be carried out also if there is never an answer.
      const asked = { ...place, t0: worldNow(), t1: Infinity, result: 'asked' }
      recorder.event({ ...asked, op: 'revoke', target, isEverywhere })
      await record(run, (event) => {
        code = event.result
        if (code === 'ok') recorder.event({ ...event, op: 'revoke', target, isEverywhere })
      })
      return code
    },
    async countSessions(user, limit) {
      await record(
        () => manager.sessions.list(user, { limit: 1000 }),
        (event, list) => recorder.event({ ...event, op: 'list', user, limit, count: list?.length ?? 0 }),
      )
    },
    async reportHealth(isAtRest = false) {
      await record(
        () => manager.health(),
        (event, health) =>
          recorder.event({
            ...event,
            op: 'health',
            entries: health?.replica?.entries ?? 0,
            timers: process.countTimers(),
            isAtRest,
          }),
      )
    },
    setKeys: (next) => manager.keys.set(next),
    handle: createDoor({ place, process, settings, recorder, worldNow }, manager),
  }
}
