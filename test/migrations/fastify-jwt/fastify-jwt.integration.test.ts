import jwt from 'jsonwebtoken'
import { migrationContract } from '../shared/migration-contract.js'
import { start as startAfter } from './after.js'
import { SECRET, start as startBefore } from './before.js'

migrationContract('@fastify/jwt', {
  startBefore,
  startAfter,
  hasRefresh: false,
  lifetime: 7 * 86_400,
  refused: () => ({
    'one of another algorithm': jwt.sign({ user: { id: 7 } }, SECRET, { algorithm: 'HS512' }),
    'one that lives too long': jwt.sign({ user: { id: 7 } }, SECRET, { expiresIn: '30d' }),
    'one without a user': jwt.sign({ user: {} }, SECRET, { expiresIn: '7d' }),
    'one whose user is inherited': jwt.sign({ user: [] }, SECRET, { expiresIn: '7d' }),
  }),
})
