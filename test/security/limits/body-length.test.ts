import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../../packages/tokenlib/src/index.js'
import { readBodyAsRoute, receive, toHttpText } from '../../helpers/requests.js'
import { describeAttacks, ownAttack } from '../harness/attack.js'
import { CLAIMS, forge, SECRET } from '../harness/forge.js'
import { countRefusal, countSuccess, FIXED_WORK, MIB } from './count-refusal.js'
import type { Work } from './count-work.js'
import { fill } from './hostile-headers.js'

const createManager = (options: TokenConfigOptions = {}): TokenManager =>
  new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, JWT_VERIFIED_CACHE_SIZE: 0, ...options }),
  })

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const token = forge()
const small = JSON.stringify({ access_token: token })
// The token is there, in a body that is longer than one with a token ever is.
const large = JSON.stringify({ access_token: token, x: 'x'.repeat(4 * MIB) })

const parsed = ({ by }: Work): number => (by['JSON.parse'] ?? 0) + (by['new.URLSearchParams'] ?? 0)

describeAttacks('limits: the length of a body that a token is looked for in (CVE-2025-61920)', () => {
  const json = (body: string): Request =>
    new Request('http://localhost/', { method: 'POST', headers: { 'content-type': JSON_TYPE }, body })

  ownAttack('Fetch: of a body of 4 MiB no more than 1 MiB is taken, and nothing parsed', async () => {
    const guard = createManager().require({ locations: ['json'] })
    const good = json(small)
    expect(parsed(await countSuccess(() => guard(good)))).toBeGreaterThan(small.length)
    const bad = json(large)
    const work = await countRefusal(() => guard(bad))
    expect(parsed(work)).toBeLessThan(FIXED_WORK)
    expect(work.by['Buffer.concat']).toBeUndefined()
    // The route still has all of it.
    expect((await bad.text()).length).toBe(large.length)
  })

  ownAttack('Fetch: a body that never ends is not waited for', async () => {
    const guard = createManager().require({ locations: ['json'] })
    let pulled = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1
        // An end after all, so that anyone who waits for one is found out.
        if (pulled > 200) controller.close()
        else controller.enqueue(Buffer.alloc(65_536, '['))
      },
    })
    const init = { method: 'POST', headers: { 'content-type': JSON_TYPE }, body: endless, duplex: 'half' }
    const request = new Request('http://localhost/', init as RequestInit)
    const work = await countRefusal(() => guard(request))
    expect(parsed(work)).toBeLessThan(FIXED_WORK)
    // One megabyte, and what the stream and its two branches fetch ahead.
    expect(pulled).toBeLessThan(24)
  })

  ownAttack('Node: a body that says it is too long is not read at all', async () => {
    const guard = createManager().require({ locations: ['json'] })
    const post = (body: string): string => {
      const headers = [
        ['Content-Type', JSON_TYPE],
        ['Content-Length', String(body.length)],
      ] as const
      return toHttpText('POST /', headers, body)
    }
    expect(
      parsed(await receive(post(small), (request) => countSuccess(() => guard(request)))),
    ).toBeGreaterThan(0)
    await receive(post(large), async (request) => {
      const work = await countRefusal(() => guard(request))
      expect(parsed(work)).toBeLessThan(FIXED_WORK)
      expect(work.by['Buffer.concat']).toBeUndefined()
      expect(await readBodyAsRoute(request)).toBe(large)
    })
  })

  ownAttack('Node: a body that does not say how long it is, is read to 1 MiB and not parsed', async () => {
    const guard = createManager().require({ locations: ['json'] })
    const headers = [
      ['Content-Type', JSON_TYPE],
      ['Transfer-Encoding', 'chunked'],
    ] as const
    const post = (body: string): string =>
      toHttpText('POST /', headers, `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`)
    expect(
      parsed(await receive(post(small), (request) => countSuccess(() => guard(request)))),
    ).toBeGreaterThan(0)
    await receive(post(large), async (request) => {
      const work = await countRefusal(() => guard(request))
      expect(parsed(work)).toBeLessThan(FIXED_WORK)
      expect(work.by['Buffer.concat']).toBeLessThan(1.25 * MIB)
      expect(await readBodyAsRoute(request)).toBe(large)
    })
  })

  ownAttack('a form of 4 MiB is not parsed for its CSRF value', async () => {
    const guard = createManager({ JWT_CSRF_CHECK_FORM: true }).require({ locations: ['cookies'] })
    const cookie = `access_token_cookie=${forge({ claims: { ...CLAIMS, csrf: 'right' } })}`
    const headers = { cookie, 'content-type': FORM_TYPE }
    const post = (body: string): Request =>
      new Request('http://localhost/', { method: 'POST', headers, body })
    const good = post('csrf_token=right')
    expect(parsed(await countSuccess(() => guard(good)))).toBeGreaterThan(0)
    for (const body of [fill('csrf_token=right&', 4 * MIB), `csrf_token=right&x=${fill('%41', 4 * MIB)}`]) {
      const bad = post(body)
      expect(parsed(await countRefusal(() => guard(bad)))).toBeLessThan(FIXED_WORK)
    }
  })

  ownAttack('a form of 1 MiB next to a cookie that nobody signed is not parsed', async () => {
    const guard = createManager({ JWT_CSRF_CHECK_FORM: true }).require({ locations: ['cookies'] })
    const claims = { ...CLAIMS, csrf: 'right' }
    const body = fill('csrf_token=right&', MIB - 1)
    const headersWith = (cookie: string) => ({
      cookie: `access_token_cookie=${cookie}`,
      'content-type': FORM_TYPE,
    })
    const unsigned = [forge({ claims, key: randomBytes(32) }), `${forge({ claims })}x`, 'x']
    for (const cookie of unsigned) {
      const headers = headersWith(cookie)
      const bad = new Request('http://localhost/', { method: 'POST', headers, body })
      expect(parsed(await countRefusal(() => guard(bad)))).toBeLessThan(FIXED_WORK)
      const text = toHttpText('POST /', Object.entries({ ...headers, 'content-length': `${MIB - 1}` }), body)
      await receive(text, async (request) => {
        expect(parsed(await countRefusal(() => guard(request)))).toBeLessThan(FIXED_WORK)
        expect(request.readableDidRead).toBe(false)
      })
    }
  })
})
