import { describe, expect, test } from 'vitest'
import { createManager } from '../helpers/manager.js'
import { createRequest, type RequestOptions } from '../helpers/requests.js'

const ORIGIN = 'https://app.example'
const { tokens } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })

/** Where the token of a handshake was found and the subprotocol to agree to, or the code of the refusal. */
async function find(options: RequestOptions, origins: readonly string[] = []): Promise<unknown[]> {
  try {
    const { token, protocol, payload } = await tokens.sockets.authenticate(createRequest(options), {
      origins,
    })
    return [payload.sub, token.location, token.csrf, protocol]
  } catch (error) {
    return [(error as { code: string }).code]
  }
}

const offer = (protocols: string) => ({ headers: { 'sec-websocket-protocol': protocols } })
const MISSING = ['TOKEN_MISSING']

describe('a handshake brings its token', () => {
  test('in the query or the header, and then no subprotocol is agreed to', async () => {
    expect(await find({ path: `/?token=${TOKEN}` })).toEqual(['ada', 'query', null, null])
    const headers = { authorization: `Bearer ${TOKEN}`, 'sec-websocket-protocol': `bearer, ${TOKEN}` }
    expect(await find({ headers })).toEqual(['ada', 'headers', null, null])
  })

  test.each([`bearer, ${TOKEN}`, `Bearer,${TOKEN}`, ` BEARER ,  ${TOKEN} `, `chat, bearer, ${TOKEN}, more`])(
    'as the subprotocol after "bearer": %.12s…',
    async (protocols) => {
      expect(await find(offer(protocols))).toEqual(['ada', 'headers', null, 'bearer'])
    },
  )

  test.each(['bearer', 'bearer,', `chat, ${TOKEN}`, `${TOKEN}, bearer`, `xbearer, ${TOKEN}`, ''])(
    'and not in %.12s…',
    async (protocols) => {
      expect(await find(offer(protocols))).toEqual(MISSING)
    },
  )

  test('in a cookie, from an origin that was named', async () => {
    const cookies = { access_token_cookie: TOKEN }
    expect(await find({ cookies, headers: { origin: ORIGIN } }, [ORIGIN])).toEqual([
      'ada',
      'cookies',
      null,
      null,
    ])
    expect(await find({ cookies, headers: { origin: 'https://evil.example' } }, [ORIGIN])).toEqual([
      'CSRF_MISMATCH',
    ])
    expect(await find({ cookies }, [ORIGIN])).toEqual(['CSRF_MISMATCH'])
    // Nobody was named: the cookie is not even looked at.
    expect(await find({ cookies, headers: { origin: ORIGIN } })).toEqual(MISSING)
    expect(await find({ headers: { origin: 'https://evil.example' } }, [ORIGIN])).toEqual(MISSING)
  })

  test('a subprotocol comes before a cookie', async () => {
    const options = { ...offer(`bearer, ${TOKEN}`), cookies: { access_token_cookie: 'x' } }
    expect(await find(options, [ORIGIN])).toEqual(['ada', 'headers', null, 'bearer'])
  })
})
