import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect } from 'vitest'
import {
  type RequestSource,
  TokenConfig,
  type TokenConfigOptions,
  TokenManager,
} from '../../../packages/tokenlib/src/index.js'
import { toHttpText } from '../../helpers/requests.js'
import { describeAttacks, ownAttack } from '../harness/attack.js'
import { CLAIMS, forge, SECRET } from '../harness/forge.js'
import { countRefusal, countSuccess, FIXED_WORK, TEN_MEGABYTES } from './count-refusal.js'
import { countWork } from './count-work.js'
import { fill, HOSTILE_PLACES, type RequestParts } from './hostile-headers.js'

// Node takes half a second to read ten of them.
const TWO_MEGABYTES = 2_000_000

const createManager = (options: TokenConfigOptions = {}): TokenManager =>
  new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 0, ...options }),
  })

// What may stand next to the longest token.
const LIMIT = 8192 + 65_536

const VIEWS: Readonly<Record<string, (parts: RequestParts) => RequestSource>> = {
  Fetch: ({ method = 'GET', url = '/', headers = {} }) =>
    new Request(`http://localhost${url}`, { method, headers }),
  Node: ({ method = 'GET', url = '/', headers = {} }) => ({
    method,
    url,
    headers,
    rawHeaders: Object.entries(headers).flat(),
  }),
}

for (const [name, toRequest] of Object.entries(VIEWS)) {
  describeAttacks(`limits: the length of what a token is looked for in, ${name} (CVE-2025-30204)`, () => {
    for (const { location, honest, hostile } of HOSTILE_PLACES) {
      ownAttack(`${location}: ten megabytes cost no more than one character too many`, async () => {
        const guard = createManager().require({ locations: [location] })
        const good = toRequest(honest)
        await countSuccess(() => guard(good))
        for (const [what, make] of Object.entries(hostile)) {
          // A Fetch request of ten megabytes takes half a second to make.
          for (const length of name === 'Node' ? [LIMIT + 1, TEN_MEGABYTES] : [LIMIT + 1]) {
            const request = toRequest(make(length))
            const { total } = await countRefusal(() => guard(request))
            expect(total, `${what}, ${length} characters`).toBeLessThan(FIXED_WORK)
          }
        }
      })

      ownAttack(`${location}: up to the limit, twice the length is twice the work`, async () => {
        const guard = createManager().require({ locations: [location] })
        for (const [what, make] of Object.entries(hostile)) {
          const totals: number[] = []
          for (const length of [4096, 8192, 16_384]) {
            const request = toRequest(make(length))
            totals.push((await countWork(() => guard(request))).work.total)
          }
          const [small = 0, middle = 0, large = 0] = totals
          expect(small, what).toBeGreaterThan(100)
          expect(middle / small, what).toBeLessThan(2.3)
          expect(large / middle, what).toBeLessThan(2.3)
        }
      })
    }

    ownAttack('a CSRF value of ten megabytes is not copied to be compared', async () => {
      const guard = createManager().require({ locations: ['cookies'] })
      const cookie = `access_token_cookie=${forge({ claims: { ...CLAIMS, csrf: 'right' } })}`
      const post = (csrf: string): RequestSource =>
        toRequest({ method: 'POST', headers: { cookie, 'x-csrf-token': csrf } })
      const good = post('right')
      const { total } = await countSuccess(() => guard(good))
      const bad = post(fill('right', TEN_MEGABYTES))
      expect((await countRefusal(() => guard(bad))).total).toBeLessThan(total + FIXED_WORK)
    })

    ownAttack('a content type of ten megabytes is not read to find the body', async () => {
      const guard = createManager().require({ locations: ['json'] })
      const body = JSON.stringify({ access_token: forge() })
      const post = (contentType: string): RequestSource => {
        const headers = { 'content-type': contentType }
        return name === 'Fetch'
          ? new Request('http://localhost/', { method: 'POST', headers, body })
          : { method: 'POST', url: '/', headers, body }
      }
      const good = post('application/json; charset=utf-8')
      await countSuccess(() => guard(good))
      const bad = post(`application/json; charset=${fill('x', TEN_MEGABYTES)}`)
      expect((await countRefusal(() => guard(bad))).total).toBeLessThan(FIXED_WORK)
    })

    ownAttack('a WebSocket handshake has the same limits', async () => {
      const tokens = createManager()
      const origin = 'https://app.example'
      const upgrade = (parts: RequestParts): (() => unknown) => {
        const headers = { origin, ...parts.headers }
        const request = toRequest({ ...parts, headers })
        return () => tokens.sockets.authenticate(request, { origins: [origin] })
      }
      const token = forge()
      const good = [
        { url: `/?token=${token}` },
        ...[
          { authorization: `Bearer ${token}` },
          { 'sec-websocket-protocol': `chat, bearer, ${token}` },
          { cookie: `access_token_cookie=${token}` },
        ].map((headers) => ({ headers })),
      ]
      for (const parts of good) await countSuccess(upgrade(parts))
      const length = name === 'Fetch' ? LIMIT + 1 : TEN_MEGABYTES
      const bad = [
        { url: `/?${fill('a=b&', length)}` },
        ...['authorization', 'sec-websocket-protocol', 'cookie'].map((header) => ({
          headers: { [header]: fill('bearer,', length) },
        })),
      ]
      for (const parts of bad) {
        expect((await countRefusal(upgrade(parts))).total).toBeLessThan(FIXED_WORK)
      }
    })
  })
}

describeAttacks(
  'limits: the length of what a token is looked for in, servers and lists (CVE-2025-30204)',
  () => {
    ownAttack('a server that lets two megabytes of headers through', async () => {
      const guard = createManager().require({ locations: ['cookies', 'headers'] })
      const token = forge()
      const good = [['Cookie', `access_token_cookie=${token}`]] as const
      await receiveLarge(toHttpText('GET /', good), (request) => countSuccess(() => guard(request)))
      const cookies = fill('a=b; ', TWO_MEGABYTES)
      for (const headers of [[['Cookie', cookies]], [['Authorization', fill(',', TWO_MEGABYTES)]]] as const) {
        const work = await receiveLarge(toHttpText('GET /', headers), (request) =>
          countRefusal(() => guard(request)),
        )
        expect(work.total).toBeLessThan(FIXED_WORK)
      }
    })

    ownAttack('ten megabytes in a thousand headers of one name are not joined first', async () => {
      const guard = createManager().require({ locations: ['cookies', 'headers'] })
      const token = forge()
      await countSuccess(() =>
        guard({ method: 'GET', headers: { cookie: ['a=b', `access_token_cookie=${token}`] } }),
      )
      const piece = fill('a=b; ', TEN_MEGABYTES / 1000)
      const pieces = Array.from({ length: 1000 }, () => piece)
      for (const name of ['cookie', 'authorization']) {
        const listed = await countRefusal(() => guard({ method: 'GET', headers: { [name]: pieces } }))
        expect(listed.total, name).toBeLessThan(2 * FIXED_WORK)
      }
    })

    ownAttack('the limit grows with the token that is allowed, and by nothing else', async () => {
      const guard = createManager({ JWT_MAX_TOKEN_LENGTH: 20_000 }).require({ locations: ['cookies'] })
      const cookie = `access_token_cookie=${forge()}; x=`
      const atLimit = { method: 'GET', headers: { cookie: cookie.padEnd(20_000 + 65_536, 'x') } }
      const above = { method: 'GET', headers: { cookie: cookie.padEnd(20_000 + 65_537, 'x') } }
      await countSuccess(() => guard(atLimit))
      expect((await countRefusal(() => guard(above))).total).toBeLessThan(FIXED_WORK)
    })
  },
)

// Node refuses more than 16 KiB of headers by itself, unless it is told otherwise.
async function receiveLarge<Value>(
  text: string,
  handle: (request: IncomingMessage) => Promise<Value>,
): Promise<Value> {
  const server = createServer({ maxHeaderSize: 2 * TWO_MEGABYTES }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  try {
    const arrival = once(server, 'request') as Promise<[IncomingMessage]>
    socket.write(text)
    const [request] = await arrival
    return await handle(request)
  } finally {
    socket.destroy()
    server.close()
    server.closeAllConnections()
  }
}
