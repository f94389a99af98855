import jwt, { type SignOptions } from 'jsonwebtoken'
import { migrationContract } from '../shared/migration-contract.js'
import { start as startAfter } from './after.js'
import { privateKey, publicKey, start as startBefore } from './before.js'

const sign = (options: SignOptions = {}) =>
  jwt.sign({}, privateKey, {
    algorithm: 'RS256',
    expiresIn: '1h',
    subject: '7',
    issuer: 'shop',
    audience: 'shop-api',
    ...options,
  })

migrationContract('express-jwt', {
  startBefore,
  startAfter,
  hasRefresh: true,
  lifetime: 3600,
  refused: () => ({
    'one of another issuer': sign({ issuer: 'blog' }),
    'one in the name of the new application': sign({ issuer: 'https://shop.example' }),
    'one for another audience': sign({ audience: 'billing' }),
    'one of another algorithm': sign({ algorithm: 'RS512' }),
    'one that lives too long': sign({ expiresIn: '60d' }),
    'one whose secret is the public key': jwt.sign(
      { sub: '7', iss: 'shop', aud: 'shop-api' },
      Buffer.from(publicKey.export({ type: 'spki', format: 'pem' })),
      { algorithm: 'HS256', expiresIn: '1h' },
    ),
  }),
})
