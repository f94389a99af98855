import { expect, test } from 'vitest'
import { claimsOf, migrationContract } from '../shared/migration-contract.js'
import { findUser, type User } from '../shared/users.js'
import { start as startAfter } from './after.js'
import { create } from './before.js'

const ADA = findUser('7') as User

migrationContract('flask-jwt-extended', {
  startBefore: null,
  logIn: async (user) => ({
    access_token: await create('access', user),
    refresh_token: await create('refresh', user),
  }),
  startAfter,
  hasRefresh: true,
  lifetime: 900,
  refused: async () => ({
    'a refresh token that lives as long as an access token': await create('refresh', ADA, {
      exp: Math.floor(Date.now() / 1000) + 900,
    }),
    'a token without a type': await create('access', ADA, { type: undefined }),
    'one that is not valid yet': await create('access', ADA, { nbf: Math.floor(Date.now() / 1000) + 600 }),
  }),
})

test('an old cookie needs its old CSRF value, and is never fresh', async () => {
  const token = await create('access', ADA)
  // The application's clock stands still at this moment, so a token created later could have an `iat` in the future.
  const at = Date.now()
  const { url, close } = await startAfter({
    port: 0,
    clock: () => at,
    acceptUntil: new Date(at + 86_400_000),
  })
  try {
    const post = async (path: string, csrf: string): Promise<string> => {
      const headers = { cookie: `access_token_cookie=${token}`, 'x-csrf-token': csrf }
      const response = await fetch(url + path, { method: 'POST', headers })
      return response.ok ? 'ok' : ((await response.json()) as { readonly code: string }).code
    }
    const value = String(claimsOf(token)['csrf'])
    expect(await post('/notes', value)).toBe('ok')
    expect(await post('/notes', 'guessed')).toBe('CSRF_MISMATCH')
    expect(await post('/notes', '')).toBe('CSRF_MISSING')
    expect(await post('/password', value)).toBe('FRESH_TOKEN_REQUIRED')
  } finally {
    await close()
  }
})
