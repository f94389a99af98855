import express, { type NextFunction, type Request, type Response } from 'express'
import jwt from 'jsonwebtoken'
import { type RunningServer, serveNode } from '../../../examples/server.js'
import { checkPassword, findUser, type User } from '../shared/users.js'

/** In the environment of a real application. */
export const ACCESS_SECRET = 'Vb3nXw8kQe5uTz1yLm7rCc4pHd9fGj2a'
export const REFRESH_SECRET = 'Ks6tMd2vRa9wPf4bHj0xLq5zEc7nYu1i'

const issue = (user: User) => ({
  access_token: jwt.sign({ userId: user.id, roles: user.roles }, ACCESS_SECRET, { expiresIn: '15m' }),
  refresh_token: jwt.sign({ userId: user.id }, REFRESH_SECRET, { expiresIn: '60d' }),
})

function authenticate(req: Request, res: Response, next: NextFunction) {
  const [, token = ''] = (req.headers.authorization ?? '').split(' ')
  try {
    res.locals['claims'] = jwt.verify(token, ACCESS_SECRET, { algorithms: ['HS256'] })
    next()
  } catch {
    res.status(401).json({ error: 'Unauthorized' })
  }
}

const app = express().use(express.json())

app.post('/login', (req, res) => {
  const user = checkPassword(req.body.name, req.body.password)
  if (user === null) res.status(401).json({ error: 'Wrong name or password' })
  else res.json(issue(user))
})

app.get('/me', authenticate, (_req, res) => {
  const { userId, roles } = res.locals['claims'] as { userId: number; roles: string[] }
  res.json({ id: userId, roles })
})

app.post('/refresh', (req, res) => {
  try {
    const claims = jwt.verify(req.body.refresh_token, REFRESH_SECRET, { algorithms: ['HS256'] })
    const user = findUser(String((claims as jwt.JwtPayload)['userId']))
    if (user === null) throw new Error('Unknown user')
    res.json(issue(user))
  } catch {
    res.status(401).json({ error: 'Unauthorized' })
  }
})

// The client forgets its tokens; anyone who has a copy can go on using them.
app.post('/logout', authenticate, (_req, res) => {
  res.status(204).end()
})

export function start(port: number): Promise<RunningServer> {
  return serveNode(app, port)
}
