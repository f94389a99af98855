import { generateKeyPairSync, randomBytes } from 'node:crypto'
import express, { type ErrorRequestHandler } from 'express'
import { expressjwt, type Request } from 'express-jwt'
import jwt from 'jsonwebtoken'
import { type RunningServer, serveNode } from '../../../examples/server.js'
import { checkPassword, findUser, type User } from '../shared/users.js'

/** In files of a real application. */
export const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** A table of a real application: refresh tokens that are random texts. */
export const refreshTokens = new Map<string, { readonly userId: number; readonly expiresAt: number }>()

function issue(user: User) {
  const refreshToken = randomBytes(32).toString('base64url')
  refreshTokens.set(refreshToken, { userId: user.id, expiresAt: Date.now() + 60 * 86_400_000 })
  const accessToken = jwt.sign({ permissions: user.roles }, privateKey, {
    algorithm: 'RS256',
    expiresIn: '1h',
    subject: String(user.id),
    issuer: 'shop',
    audience: 'shop-api',
  })
  return { access_token: accessToken, refresh_token: refreshToken }
}

const app = express().use(express.json())

app.use(
  expressjwt({
    secret: publicKey.export({ type: 'spki', format: 'pem' }),
    algorithms: ['RS256'],
    issuer: 'shop',
    audience: 'shop-api',
  }).unless({ path: ['/login', '/refresh'] }),
)

app.post('/login', (req, res) => {
  const user = checkPassword(req.body.name, req.body.password)
  if (user === null) res.status(401).json({ error: 'Wrong name or password' })
  else res.json(issue(user))
})

app.get('/me', (req: Request, res) => {
  res.json({ id: Number(req.auth?.sub), roles: req.auth?.['permissions'] })
})

app.post('/refresh', (req, res) => {
  const row = refreshTokens.get(req.body.refresh_token)
  const user = row !== undefined && row.expiresAt > Date.now() ? findUser(String(row.userId)) : null
  if (user === null) res.status(401).json({ error: 'Unauthorized' })
  else res.json(issue(user))
})

const handleUnauthorized: ErrorRequestHandler = (error: { status?: number }, _req, res, _next) => {
  res.status(error.status ?? 500).json({ error: 'Unauthorized' })
}
app.use(handleUnauthorized)

export function start(port: number): Promise<RunningServer> {
  return serveNode(app, port)
}
