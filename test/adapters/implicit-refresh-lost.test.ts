import { describe, expect, test } from 'vitest'
import { handleErrors, implicitRefresh } from '../../packages/tokenlib/src/frameworks/fetch.js'
import { refreshImplicitly } from '../../packages/tokenlib/src/index.js'
import { logIn } from './logged-in.js'

// The server has renewed the tokens, and the client never gets them. The grace is a minute long.
const AFTER_GRACE = 61

const open = async () => {
  const session = await logIn()
  const { tokens, jar, clock } = session
  const visit = async (route: () => Response): Promise<Response> => {
    const request = new Request('http://localhost/', { headers: jar.headers() })
    const handle = implicitRefresh(tokens)(
      handleErrors({ config: tokens.config })(async (given) => {
        await tokens.accessTokenRequired(given)
        return route()
      }),
    )
    const response = await handle(request)
    jar.store(response.headers.getSetCookie())
    return response
  }
  clock.seconds += 301
  return { ...session, visit }
}
const answer = (): Response => new Response('page')

describe('a response that the client does not get', () => {
  const fail = (): never => {
    throw new Error('on purpose')
  }

  test('within the grace, the old cookies are renewed again', async () => {
    const { visit } = await open()
    await expect(visit(fail)).rejects.toThrow('on purpose')
    expect((await visit(answer)).status).toBe(200)
  })

  test('a Fetch route that throws does not log the user out', async () => {
    const { visit, clock } = await open()
    await expect(visit(fail)).rejects.toThrow('on purpose')
    clock.seconds += AFTER_GRACE
    expect((await visit(answer)).status).toBe(200)
  })

  // Any site can start a navigation to this one, and abort it before the response arrives.
  test('a navigation that another site starts and aborts does not end the session', async () => {
    const { tokens, visit, jar, clock } = await open()
    const aborted = new Request('http://localhost/', {
      headers: { ...jar.headers(), 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
    })
    expect(await refreshImplicitly(tokens, aborted)).not.toBeNull()
    clock.seconds += AFTER_GRACE
    expect((await visit(answer)).status).toBe(200)
    expect((await tokens.sessions.list('ada')).length).toBe(1)
  })
})
