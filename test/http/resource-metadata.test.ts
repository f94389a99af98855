import { describe, expect, test } from 'vitest'
import {
  InsufficientScopeError,
  MissingTokenError,
  RevocationUnavailableError,
  toErrorResponse,
} from '../../packages/tokenlib/src/index.js'
import { isEndpointUrl } from '../../packages/tokenlib/src/requests/error-response.js'

const resourceMetadata = 'https://api.example/.well-known/oauth-protected-resource/v1?x=1'

describe('the challenge says where the metadata of the resource is (RFC 9728 §5.1)', () => {
  test('without a token, and without a scope', () => {
    const parameter = `resource_metadata="${resourceMetadata}"`
    const missing = toErrorResponse(new MissingTokenError(), { resourceMetadata })
    expect(missing.headers['www-authenticate']).toBe(`Bearer realm="api", ${parameter}`)
    const lacking = toErrorResponse(new InsufficientScopeError(['a'], []), { resourceMetadata })
    expect(lacking.headers['www-authenticate']).toMatch(/scope="a", resource_metadata="https:/)
  })

  test('a response without a challenge has none', () => {
    const { headers } = toErrorResponse(new RevocationUnavailableError(null), { resourceMetadata })
    expect(headers).not.toHaveProperty('www-authenticate')
  })

  test.each([
    '/.well-known/oauth-protected-resource',
    'http://api.example/',
    'https://api.example/#a',
    'https://api.example/", realm="x',
    'https://api.example/\\',
    'https://api.example/\r\nx: y',
    'https://a:b@api.example/',
    'https://a@api.example/',
    'https://:b@api.example/',
    'ftp://api.example/',
    'ftp://localhost/',
    '',
    7,
  ])('%j is refused', (value) => {
    expect(() => toErrorResponse(new MissingTokenError(), { resourceMetadata: value as never })).toThrow(
      TypeError,
    )
  })

  test('HTTP is for this machine', () => {
    for (const url of ['http://localhost:3000/x', 'http://127.0.0.1/x', 'http://[::1]:80/x']) {
      expect(toErrorResponse(new MissingTokenError(), { resourceMetadata: url }).status).toBe(401)
    }
  })
})

test('a URL object is not the text of an endpoint', () => {
  expect(isEndpointUrl('https://api.example/')).toBe(true)
  expect(isEndpointUrl(new URL('https://api.example/'))).toBe(false)
})
