'use strict'
const express = require('express')
const { setAccessCookies, TokenConfig, TokenManager } = require('tokenlib')
const { enforce, handleErrors, inject, sendCookies } = require('tokenlib/express')
const { createMemoryStore } = require('tokenlib/memory')

exports.createApp = function createApp() {
  const config = new TokenConfig({
    JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes',
    JWT_TOKEN_LOCATION: ['headers', 'cookies'],
  })
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  const app = express()
  app.post('/login', express.json(), async (req, res) => {
    const { accessToken, refreshToken } = await tokens.sessions.open({ uid: req.body.uid })
    sendCookies(res, setAccessCookies(tokens, accessToken))
    res.json({ accessToken, refreshToken })
  })
  app.get(
    '/me',
    enforce(tokens.accessTokenRequired),
    inject({ payload: tokens.accessTokenRequired }, ({ payload }, _req, res) =>
      res.json({ id: payload.sub }),
    ),
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
