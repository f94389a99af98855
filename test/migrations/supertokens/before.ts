import express from 'express'
import SuperTokens from 'supertokens-node'
import { errorHandler, middleware, type SessionRequest } from 'supertokens-node/framework/express/index.js'
import Session from 'supertokens-node/recipe/session/index.js'
import { verifySession } from 'supertokens-node/recipe/session/framework/express/index.js'
import { type RunningServer, serveNode } from '../../../examples/server.js'
import { checkPassword } from '../shared/users.js'

/** The SDK is one for the whole process. */
export function initSuperTokens(connectionURI: string): void {
  SuperTokens.init({
    framework: 'express',
    supertokens: { connectionURI },
    appInfo: { appName: 'shop', apiDomain: 'https://shop.example', websiteDomain: 'https://shop.example' },
    recipeList: [Session.init({ getTokenTransferMethod: () => 'cookie', antiCsrf: 'NONE' })],
    telemetry: false,
  })
}

function createApp() {
  const app = express().use(express.json(), middleware())
  app.post('/login', async (req, res) => {
    const user = checkPassword(req.body.name, req.body.password)
    if (user === null) return void res.status(401).end()
    const id = SuperTokens.convertToRecipeUserId(String(user.id))
    await Session.createNewSession(req, res, 'public', id, { roles: user.roles })
    res.json({ id: String(user.id) })
  })
  app.get('/me', verifySession(), (req: SessionRequest, res) => {
    res.json({ id: req.session?.getUserId() })
  })
  app.use(errorHandler())
  return app
}

export function start(port: number): Promise<RunningServer> {
  return serveNode(createApp(), port)
}
