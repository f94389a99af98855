import { enforce, handleErrors, mount } from '../../packages/tokenlib/src/frameworks/fetch.js'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { createBackChannelLogout } from '../../packages/issuers/src/index.js'
import { PROVIDER_PREFIX, readFacts } from './held.js'
import type { Place, Recorder, Target } from './history.js'
import { CLIENT_ID } from './identity-provider.js'
import type { Process } from './machine.js'
import type { Settings } from './settings.js'

/** What a door belongs to. */
export interface DoorOptions {
  readonly place: Place
  readonly process: Process
  readonly settings: Settings
  readonly recorder: Recorder
  readonly worldNow: () => number
}

/** The session routes, a guarded route and the receiver of logouts, whose requests and answers are recorded. */
export function createDoor(
  { place, process, settings, recorder, worldNow }: DoorOptions,
  manager: TokenManager,
): (request: Request) => Promise<Response> {
  const { maxSessions, logsOutEverywhere: everywhere } = settings
  const routes = createSessionRoutes(manager, {
    logIn: ({ name }) => (typeof name === 'string' ? { uid: name } : null),
    ...(maxSessions !== null && { maxSessions }),
  })
  const guarded = enforce(manager.accessTokenRequired)(() => new Response('hello'))
  // The users of the provider have the same names here.
  const logout = createBackChannelLogout(manager, {
    clientId: CLIENT_ID,
    everywhere,
    toUid: ({ sub }) => sub,
  })
  const answer = mount(logout, mount(routes, handleErrors({ config: manager.config })(guarded)))

  const record = (
    request: Request,
    asked: Asked,
    t0: number,
    response: Response | null,
    code: string,
  ): void => {
    const event = { ...place, t0, t1: response === null ? Infinity : worldNow(), result: code }
    const { route, access, refresh } = asked
    const cookies = parseSetCookies(response?.headers.getSetCookie() ?? [])
    const issued = cookies[REFRESH]?.value || null
    if (route === 'POST /auth/login') {
      const session = issued && readFacts(issued).sid
      recorder.event({ ...event, op: 'open', user: asked.user, limit: maxSessions, session })
    }
    if (route === 'POST /auth/refresh' && refresh !== null) {
      const token = readFacts(refresh)
      const received = code === 'ok' ? (issued === null ? token.jti : readFacts(issued).jti) : null
      recorder.event({ ...event, op: 'refresh', token, party: 'owner', received })
    }
    // A login ends the session of the cookies too, but only if their token is valid by this clock.
    const [isLogout, isLogin] = [route === 'POST /auth/logout', route === 'POST /auth/login']
    const known = access ?? refresh
    if (known !== null && ((isLogout && code === 'ok') || ((isLogout || isLogin) && code === 'asked'))) {
      const target = { kind: 'session', id: readFacts(known).sid } as const
      recorder.event({ ...event, op: 'revoke', target, isEverywhere: false })
    }
    if (asked.logout !== null) {
      recorder.event({ ...event, op: 'logout', ...readLogout(asked.logout), isEverywhere: everywhere })
    }
    if (new URL(request.url).pathname === '/notes' && access !== null && response !== null) {
      recorder.event({ ...event, op: 'check', token: readFacts(access), isFinal: false })
    }
  }

  return async (request) => {
    const t0 = worldNow()
    const asked = await readAsked(request)
    record(request, asked, t0, null, 'asked')
    const response = await answer(request)
    // What is under way when a process ends has no answer.
    if (!process.isRunning()) return NEVER
    const code = response.ok ? 'ok' : await readCode(response)
    record(request, asked, t0, response, code)
    return response
  }
}

interface Asked {
  readonly route: string
  readonly user: string
  readonly access: string | null
  readonly refresh: string | null
  /** A logout token of the provider. */
  readonly logout: string | null
}

/** The cookies of the tokens. */
export const [ACCESS, REFRESH] = ['access_token_cookie', 'refresh_token_cookie'] as const

const NEVER = new Promise<Response>(() => {})

async function readCode(response: Response): Promise<string> {
  const { code, error } = (await response.clone().json()) as {
    readonly code?: string
    readonly error?: string
  }
  return code ?? error ?? String(response.status)
}

/** What a logout token says, as its receiver must understand it. */
function readLogout(token: string): { readonly id: string; readonly targets: readonly Target[] } {
  const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  const { jti, sub, sid } = JSON.parse(text) as {
    readonly jti: string
    readonly sub?: string
    readonly sid?: string
  }
  const users = sub === undefined ? [] : [sub, PROVIDER_PREFIX + sub]
  return {
    id: jti,
    targets: [
      ...users.map((id) => ({ kind: 'user', id }) as const),
      ...(sid === undefined ? [] : [{ kind: 'session', id: PROVIDER_PREFIX + sid } as const]),
    ],
  }
}

async function readAsked(request: Request): Promise<Asked> {
  const cookies = new Map(
    (request.headers.get('cookie') ?? '').split('; ').map((pair) => {
      const at = pair.indexOf('=')
      return [pair.slice(0, at), pair.slice(at + 1)] as const
    }),
  )
  const route = `${request.method} ${new URL(request.url).pathname}`
  const isLogin = route === 'POST /auth/login'
  const { name } = isLogin ? ((await request.clone().json()) as { name: string }) : { name: '' }
  const logout =
    route === 'POST /backchannel-logout' ? (await request.clone().text()).split('=')[1] : undefined
  return {
    route,
    user: name,
    access: cookies.get(ACCESS) ?? null,
    refresh: cookies.get(REFRESH) ?? null,
    logout: logout ?? null,
  }
}
