import { describe, expect, test } from 'vitest'
import { MissingTokenError, type TokenConfigOptions } from '../../packages/tokenlib/src/index.js'
import { TokenDecodeError } from '../../packages/tokenlib/src/errors.js'
import { readBearer } from '../../packages/tokenlib/src/http/credentials.js'
import { createManager, withBearer } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'

const { tokens } = createManager()
const TOKEN = tokens.createAccessToken({ uid: 'ada' })

/** A request with one header value. */
const withHeader = (value: string, name = 'authorization'): Request =>
  createRequest({ headers: { [name]: value } })

/** What a manager with these fields finds in the request, without validation. */
const find = (request: Request, options: TokenConfigOptions = {}) =>
  createManager(options).tokens.getTokenFromRequest(request)

describe('finding the token', () => {
  test('a bearer token is found in the headers, with no CSRF value', async () => {
    const found = await tokens.getTokenFromRequest(withBearer(TOKEN))
    expect({ ...found }).toEqual({ token: TOKEN, type: 'access', location: 'headers', csrf: null })
  })

  test('a request without the header is refused as one without a token', async () => {
    const refused = tokens.accessTokenRequired(createRequest())
    await expect(refused).rejects.toBeInstanceOf(MissingTokenError)
    await expect(refused).rejects.toMatchObject({ code: 'TOKEN_MISSING' })
  })

  test('a read for a refresh token says so', async () => {
    const found = await tokens.getTokenFromRequest(withBearer(TOKEN), { type: 'refresh' })
    expect(found).toMatchObject({ type: 'refresh', location: 'headers' })
  })
})

describe('the scheme', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])(
    'matches in any case: %s (RFC 9110 §11.1)',
    async (scheme) => {
      await expect(find(withHeader(`${scheme} ${TOKEN}`))).resolves.toMatchObject({ token: TOKEN })
    },
  )

  test.each(['  ', '      '])('may be followed by several spaces (%j)', async (spaces) => {
    await expect(find(withHeader(`Bearer${spaces}${TOKEN}`))).resolves.toMatchObject({ token: TOKEN })
  })

  test.each([
    'Basic dXNlcjpwYXNz',
    `Basic ${TOKEN}`,
    `Token ${TOKEN}`,
    `Bearerx ${TOKEN}`,
    `Bear er ${TOKEN}`,
    `Bearer\t${TOKEN}`,
    `Bearer=${TOKEN}`,
    'Digest username="ada", realm="bearer x"',
    'Bearer',
    '',
  ])('another scheme counts as no token: %j', async (value) => {
    await expect(find(withHeader(value))).resolves.toBeNull()
  })

  test('after another scheme the later locations are tried', async () => {
    const request = createRequest({ path: `/?token=${TOKEN}`, headers: { authorization: 'Basic x' } })
    const found = await find(request, { JWT_TOKEN_LOCATION: ['headers', 'query'] })
    expect(found).toMatchObject({ token: TOKEN, location: 'query' })
  })

  test('a bare JWT is refused where a scheme is configured', async () => {
    await expect(tokens.accessTokenRequired(withHeader(TOKEN))).rejects.toMatchObject({
      code: 'TOKEN_MISSING',
    })
  })

  test('with an empty scheme the whole value is the token', async () => {
    const bare = createManager({ JWT_HEADER_TYPE: '' }).tokens
    await expect(bare.getTokenFromRequest(withHeader(TOKEN))).resolves.toMatchObject({ token: TOKEN })
    await expect(bare.accessTokenRequired(withHeader(TOKEN))).resolves.toMatchObject({ sub: 'ada' })
  })

  test.each([`Bearer ${TOKEN}`, `${TOKEN} x`, `${TOKEN}, ${TOKEN}`])(
    'with an empty scheme a value of two parts is refused (%#)',
    async (value) => {
      const bare = createManager({ JWT_HEADER_TYPE: '' }).tokens
      await expect(bare.accessTokenRequired(withHeader(value))).rejects.toBeInstanceOf(TokenDecodeError)
    },
  )

  test('with an empty scheme an empty value is no token', async () => {
    await expect(find(withHeader(' '), { JWT_HEADER_TYPE: '' })).resolves.toBeNull()
  })

  test('JWT_HEADER_TYPE: only the custom scheme is accepted, in any case', async () => {
    const options = { JWT_HEADER_TYPE: 'JWT' }
    await expect(find(withHeader(`JWT ${TOKEN}`), options)).resolves.toMatchObject({ token: TOKEN })
    await expect(find(withHeader(`jwt ${TOKEN}`), options)).resolves.toMatchObject({ token: TOKEN })
    await expect(find(withHeader(`Bearer ${TOKEN}`), options)).resolves.toBeNull()
  })
})

describe('the header name', () => {
  test('JWT_HEADER_NAME: only the custom header is read, in any case', async () => {
    const options = { JWT_HEADER_NAME: 'X-Auth' }
    await expect(find(withHeader(`Bearer ${TOKEN}`, 'x-AUTH'), options)).resolves.toMatchObject({
      token: TOKEN,
    })
    await expect(find(withBearer(TOKEN), options)).resolves.toBeNull()
  })

  test('a custom name and an empty scheme go together', async () => {
    const options = { JWT_HEADER_NAME: 'X-Auth', JWT_HEADER_TYPE: '' }
    await expect(find(withHeader(TOKEN, 'x-auth'), options)).resolves.toMatchObject({ token: TOKEN })
  })
})

describe('several credentials', () => {
  test.each([
    'Basic creds, Bearer t',
    'Bearer t, Basic creds',
    'Bearer t,Basic creds',
    'Basic creds , bearer  t',
    'Digest a="1", b="2", Bearer t',
    'Bearer t, Digest a="1", b="2"',
    'Basic a, Bearer t, Negotiate b',
  ])('the bearer token among others is found: %s', (value) => {
    expect(readBearer(value, 'Bearer')).toBe('t')
  })

  test.each([
    'Bearer a, Bearer b',
    'Bearer a, Bearer a',
    'Bearer a,bearer b',
    'Bearer a, Basic c, Bearer b',
    'Basic c, Bearer a, BEARER b',
  ])('two bearer credentials are refused: %s', async (value) => {
    await expect(find(withHeader(value))).rejects.toBeInstanceOf(TokenDecodeError)
  })

  test('two bearer headers are refused, even if one token is good', async () => {
    const headers = new Headers({ authorization: `Bearer ${TOKEN}` })
    headers.append('authorization', 'Bearer other')
    const request = new Request('http://localhost/', { headers })
    await expect(tokens.accessTokenRequired(request)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test.each([
    `Bearer ${TOKEN} x`,
    `Bearer ${TOKEN},y`,
    `Bearer ${TOKEN}, y`,
    `Bearer x ${TOKEN}`,
    `Bearer "${TOKEN}"`,
  ])('one token follows the scheme and nothing else (%#)', async (value) => {
    await expect(tokens.accessTokenRequired(withHeader(value))).rejects.toBeInstanceOf(TokenDecodeError)
  })
})

// RFC 9110 §5.6.1.2: a recipient must parse and ignore empty list elements.
test.each([
  'Bearer x.y.z,',
  'Bearer x.y.z ,',
  'Bearer x.y.z, ,\t,',
  ', Bearer x.y.z',
  ',,Bearer x.y.z,,',
  'Bearer x.y.z, , Basic dTpw',
  'Basic dTpw,, Bearer x.y.z',
])('empty elements of the list are ignored: %j', (header) => {
  expect(readBearer(header, 'Bearer')).toBe('x.y.z')
})

test.each([',', ' , ,', ',Basic dTpw,'])('a list without the scheme has no token: %j', (header) => {
  expect(readBearer(header, 'Bearer')).toBeNull()
})

test('two credentials are two, with empty elements between them too', () => {
  expect(() => readBearer('Bearer a,,Bearer b', 'Bearer')).toThrow(
    expect.objectContaining({ code: 'TOKEN_INVALID' }),
  )
  expect(readBearer('Bearer a,,b', 'Bearer')).toBe('a, b')
})

test.each(['Bearer x.y.z ', 'Bearer x.y.z\t', 'Bearer x.y.z \t '])(
  'blanks behind a token are no part of it: %j',
  (header) => {
    expect(readBearer(header, 'Bearer')).toBe('x.y.z')
  },
)

test('another scheme of the same length counts as no token', () => {
  expect(readBearer('Digest x.y.z', 'Bearer')).toBeNull()
})

test('a parameter belongs to the credential before it, whatever its text', () => {
  expect(readBearer('Bearer a, realm="b c"', 'Bearer')).toBe('a, realm="b c"')
})
