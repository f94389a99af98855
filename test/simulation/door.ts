import { enforce, handleErrors, mount } from '../../packages/tokenlib/src/frameworks/fetch.js'
import type { TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSessionRoutes } from '../../packages/tokenlib/src/routes/session-routes.js'
import { parseSetCookies } from '../helpers/cookie-jar.js'
import { readFacts } from './held.js'
import type { Place, Recorder } from './history.js'
import type { Process } from './machine.js'

/** What a door belongs to. */
export interface DoorOptions {
  readonly place: Place
  readonly process: Process
  readonly maxSessions: number | null
  readonly recorder: Recorder
  readonly worldNow: () => number
}

/** The session routes and a guarded route, whose requests and answers are recorded. */
export function createDoor(
  { place, process, maxSessions, recorder, worldNow }: DoorOptions,
  manager: TokenManager,
): (request: Request) => Promise<Response> {
  const routes = createSessionRoutes(manager, {
    logIn: ({ name }) => (typeof name === 'string' ? { uid: name } : null),
    ...(maxSessions !== null && { maxSessions }),
  })
  const guarded = enforce(manager.accessTokenRequired)(() => new Response('hello'))
  const answer = mount(routes, handleErrors({ config: manager.config })(guarded))

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
    const code = response.ok ? 'ok' : ((await response.clone().json()) as { code: string }).code
    record(request, asked, t0, response, code)
    return response
  }
}

interface Asked {
  readonly route: string
  readonly user: string
  readonly access: string | null
  readonly refresh: string | null
}

/** The cookies of the tokens. */
export const [ACCESS, REFRESH] = ['access_token_cookie', 'refresh_token_cookie'] as const

const NEVER = new Promise<Response>(() => {})

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
  return { route, user: name, access: cookies.get(ACCESS) ?? null, refresh: cookies.get(REFRESH) ?? null }
}
