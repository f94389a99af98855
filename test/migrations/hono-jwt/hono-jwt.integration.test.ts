import jwt from 'jsonwebtoken'
import { migrationContract } from '../shared/migration-contract.js'
import { start as startAfter } from './after.js'
import { SECRET, start as startBefore } from './before.js'

const now = Math.floor(Date.now() / 1000)
const sign = (claims: object) => jwt.sign(claims, SECRET, { noTimestamp: true })

migrationContract('hono/jwt', {
  startBefore,
  startAfter,
  hasRefresh: false,
  lifetime: 3600,
  refused: () => ({
    'one that expired': sign({ sub: '7', exp: now - 1 }),
    'one that never expires': sign({ sub: '7' }),
    'one that lives too long': sign({ sub: '7', exp: now + 86_400 }),
    'one without a user': sign({ exp: now + 600 }),
  }),
})
