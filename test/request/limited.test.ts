import { describe, expect, test } from 'vitest'
import type { TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { createManager } from '../helpers/manager.js'

// The longest token, and what may stand next to it.
const LIMIT = 8192 + 65_536

const ask = (options: TokenConfigOptions, headers: Record<string, string>, url = '/', method = 'GET') => {
  const { tokens } = createManager(options)
  const token = tokens.createAccessToken({ uid: 'ada' })
  const fill = (text: string): string => text.replace('TOKEN', token)
  const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]))
  return { request: { method, url: fill(url), headers: filled }, tokens }
}

const pad = (text: string, length: number): string => {
  const { tokens } = createManager()
  const size = text.replace('TOKEN', tokens.createAccessToken({ uid: 'ada' })).length
  return text.replace('PAD', 'x'.repeat(length - size + 'PAD'.length))
}

const CASES: readonly [
  what: string,
  options: TokenConfigOptions,
  headers: (length: number) => Record<string, string>,
  url: (length: number) => string,
][] = [
  [
    'an Authorization header',
    {},
    (length) => ({ authorization: pad('Basic PAD, Bearer TOKEN', length) }),
    () => '/',
  ],
  [
    'a Cookie header',
    { JWT_TOKEN_LOCATION: ['cookies'], JWT_COOKIE_CSRF_PROTECT: false },
    (length) => ({ cookie: pad('a=PAD; access_token_cookie=TOKEN', length) }),
    () => '/',
  ],
  ['a URL', { JWT_TOKEN_LOCATION: ['query'] }, () => ({}), (length) => pad('/?a=PAD&token=TOKEN', length)],
]

describe('what a token is looked for in', () => {
  test.each(CASES)('%s may be as long as the longest token and 64 KiB', async (_, options, headers, url) => {
    const { tokens, request } = ask(options, headers(LIMIT), url(LIMIT))
    expect(await tokens.accessTokenRequired(request)).toMatchObject({ sub: 'ada' })
  })

  test.each(CASES)('%s that is one character longer is refused', async (_, options, headers, url) => {
    const { tokens, request } = ask(options, headers(LIMIT + 1), url(LIMIT + 1))
    const refusal = tokens.accessTokenOptional(request)
    await expect(refusal).rejects.toThrow(TokenDecodeError)
    await expect(refusal).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test.each(CASES)('%s may be longer where tokens may be', async (_, options, headers, url) => {
    const more = { ...options, JWT_MAX_TOKEN_LENGTH: 10_000 }
    const { tokens, request } = ask(more, headers(LIMIT + 1), url(LIMIT + 1))
    expect(await tokens.accessTokenRequired(request)).toMatchObject({ sub: 'ada' })
  })

  test('a long header in which no token is looked for is nobody’s concern', async () => {
    const { tokens, request } = ask(
      {},
      { authorization: 'Bearer TOKEN', cookie: 'x'.repeat(LIMIT + 1) },
      `/${'x'.repeat(LIMIT)}`,
    )
    expect(await tokens.accessTokenRequired(request)).toMatchObject({ sub: 'ada' })
  })

  test('a handshake offers no longer list of subprotocols', async () => {
    const { tokens, request } = ask({}, { 'sec-websocket-protocol': `${'a,'.repeat(LIMIT)}bearer, TOKEN` })
    await expect(tokens.sockets.authenticate(request)).rejects.toThrow(
      /sec-websocket-protocol header is longer/,
    )
  })
})
