import jwt from 'jsonwebtoken'
import { migrationContract } from '../shared/migration-contract.js'
import { start as startAfter } from './after.js'
import { ACCESS_SECRET, REFRESH_SECRET, start as startBefore } from './before.js'

migrationContract('jsonwebtoken', {
  startBefore,
  startAfter,
  hasRefresh: true,
  lifetime: 900,
  refused: () => ({
    'an access token of the refresh secret': jwt.sign({ userId: 7 }, REFRESH_SECRET, { expiresIn: '15m' }),
    'a refresh token of the access secret': jwt.sign({ userId: 7 }, ACCESS_SECRET, { expiresIn: '60d' }),
    'one that never expires, from long ago': jwt.sign({ userId: 7, iat: 1_600_000_000 }, ACCESS_SECRET),
    'one without a user': jwt.sign({ sub: '7' }, ACCESS_SECRET, { expiresIn: '15m' }),
    'one for a password reset': jwt.sign({ userId: 7, purpose: 'reset' }, ACCESS_SECRET, {
      expiresIn: '15m',
    }),
  }),
})
