import express, { type Express } from 'express'
import { setAccessCookies, TokenConfig, TokenManager } from 'tokenlib'
import { enforce, handleErrors, inject, sendCookies } from 'tokenlib/express'
import { createMemoryStore } from 'tokenlib/memory'

export function createApp(): Express {
  const config = new TokenConfig({
    JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes',
    JWT_TOKEN_LOCATION: ['headers', 'cookies'],
  })
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  const app = express()
  app.post('/login', express.json(), async (req, res) => {
    const { uid } = req.body as { uid: string }
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid })
    sendCookies(res, setAccessCookies(tokens, accessToken))
    res.json({ accessToken, refreshToken })
  })
  app.get(
    '/me',
    enforce(tokens.accessTokenRequired),
    inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) => {
      const id: string = payload.sub
      res.json({ id })
    }),
  )
  app.delete(
    '/logout',
    inject({ payload: tokens.accessTokenRequired }, async ({ payload }, _req, res) => {
      await tokens.logout(payload)
      res.json('OK')
    }),
  )
  app.use(handleErrors({ config }))
  return app
}
