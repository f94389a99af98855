import { migrationContract } from '../shared/migration-contract.js'
import { findUser, type User } from '../shared/users.js'
import { start as startAfter } from './after.js'
import { create } from './before.js'

const ADA = findUser('7') as User

migrationContract('AuthX', {
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
      exp: Date.now() / 1000 + 900,
    }),
    'one of another issuer': await create('access', ADA, { iss: 'https://other.example' }),
    'one without an issuer': await create('access', ADA, { iss: undefined }),
    'one in the name of the new application': await create('access', ADA, { iss: 'https://api.example/v2' }),
    'one for an audience': await create('access', ADA, { aud: 'billing' }),
  }),
})
