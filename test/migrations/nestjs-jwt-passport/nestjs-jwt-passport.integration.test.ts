import jwt from 'jsonwebtoken'
import { migrationContract } from '../shared/migration-contract.js'
import { start as startAfter } from './after.js'
import { REFRESH_SECRET, SECRET, start as startBefore } from './before.js'

migrationContract('@nestjs/jwt with passport-jwt', {
  startBefore,
  startAfter,
  hasRefresh: true,
  lifetime: 900,
  refused: () => ({
    'an access token of the refresh secret': jwt.sign({ sub: '7' }, REFRESH_SECRET, { expiresIn: '15m' }),
    'a refresh token of the access secret': jwt.sign({ sub: '7' }, SECRET, { expiresIn: '60d' }),
    'one of another kind': jwt.sign({ sub: '7', type: 'email' }, SECRET, { expiresIn: '15m' }),
    'one whose user is no whole number': jwt.sign({ id: 7 }, SECRET, { expiresIn: '15m' }),
  }),
})
