import express from 'express'
import { TokenConfig, TokenManager } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { enforce, handleErrors, inject } from 'tokenlib/express'
import { createMemoryStore } from 'tokenlib/memory'
import { serveNode } from '../../../examples/server.js'
import { type AfterSettings, type RunningSuccessor, toAnswer } from '../shared/application.js'
import { createKeyPair } from '../../helpers/keys.js'
import { checkPassword, findUser, type User } from '../shared/users.js'
import { publicKey, refreshTokens } from './before.js'

/** In a file too, and not the old one. */
const { privateKey } = createKeyPair('ES256')

function createTokens({ clock, acceptUntil }: AfterSettings) {
  const tokens = new TokenManager({
    config: new TokenConfig({
      JWT_ALGORITHM: 'ES256',
      JWT_PRIVATE_KEY: privateKey,
      // Not 'shop': the `iss` says which rules a token is checked by.
      JWT_ENCODE_ISSUER: 'https://shop.example',
      JWT_DECODE_ISSUER: 'https://shop.example',
      JWT_ENCODE_AUDIENCE: 'shop-api',
      JWT_DECODE_AUDIENCE: 'shop-api',
    }),
    store: createMemoryStore({ clock }),
    clock,
    issuers: [
      trustLegacyIssuer({
        issuer: 'shop',
        audience: 'shop-api',
        publicKey,
        algorithm: 'RS256',
        maxTokenAge: '1h',
        acceptUntil,
      }),
    ],
  })
  // The table is not in the store: anyone who revokes a user deletes its rows as well.
  tokens.on('revoked', ({ kind, id }) => {
    for (const [token, { userId }] of refreshTokens) {
      if (kind === 'all' || (kind === 'user' && id === String(userId))) refreshTokens.delete(token)
    }
  })
  return tokens
}

function createApp(tokens: TokenManager, { clock, acceptUntil }: AfterSettings) {
  const app = express().use(express.json())

  const logIn = (user: User) => tokens.sessions.open({ uid: String(user.id) }, { scopes: user.roles })

  app.post('/login', async (req, res) => {
    const user = checkPassword(req.body.name, req.body.password)
    if (user === null) res.status(401).json({ error: 'Wrong name or password' })
    else res.json(toAnswer(await logIn(user)))
  })

  app.get('/me', inject({ payload: tokens.accessTokenRequired }), (_req, res) => {
    const { sub, scopes } = res.locals.payload
    res.json({ id: Number(sub), roles: scopes })
  })

  app.post('/refresh', async (req, res) => {
    const token: string = req.body.refresh_token
    const row = refreshTokens.get(token)
    // `delete` says whether this request was the first. In SQL: DELETE … RETURNING user_id, expires_at.
    if (row === undefined || !refreshTokens.delete(token)) {
      res.json(toAnswer(await tokens.sessions.refresh(token)))
      return
    }
    const isGood = clock() < Math.min(row.expiresAt, acceptUntil.getTime())
    const user = isGood ? findUser(String(row.userId)) : null
    if (user === null) res.status(401).json({ error: 'Unauthorized' })
    else res.json(toAnswer(await logIn(user)))
  })

  app.post('/logout', enforce(tokens.accessTokenRequired), async (req, res) => {
    await tokens.logout(req)
    res.status(204).end()
  })

  app.use(handleErrors({ config: tokens.config }))
  return app
}

export async function start(settings: AfterSettings): Promise<RunningSuccessor> {
  const tokens = createTokens(settings)
  await tokens.ready()
  const server = await serveNode(createApp(tokens, settings), settings.port)
  return { ...server, tokens }
}
