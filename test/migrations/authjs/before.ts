import { Auth, type AuthConfig } from '@auth/core'
import type { Adapter, AdapterSession, AdapterUser, VerificationToken } from '@auth/core/adapters'
import type { JWT } from '@auth/core/jwt'
import Credentials from '@auth/core/providers/credentials'
import type { Session } from '@auth/core/types'
import { Hono } from 'hono'
import { type RunningServer, serveFetch } from '../../../examples/server.js'
import { checkPassword } from '../shared/users.js'

/** In the environment of a real application. */
export const AUTH_SECRET = 'xC7mVq2zRt9wKb4nYs6hJd1gPf8eLa5u'

/** How Auth.js keeps sessions: in an encrypted cookie, or in a table. */
export type Strategy = 'jwt' | 'database'

const common: AuthConfig = {
  secret: AUTH_SECRET,
  basePath: '/auth',
  trustHost: true,
  logger: { error: () => undefined },
  providers: [],
  callbacks: {
    // Auth.js passes `token` or `user`, as the strategy is.
    session({ session, token, user }: { session: Session; token?: JWT; user?: AdapterUser }) {
      return { ...session, user: { ...session.user, id: token?.sub ?? user?.id ?? '' } }
    },
  },
}

const withJwt: AuthConfig = {
  ...common,
  providers: [
    Credentials({
      credentials: { name: {}, password: {} },
      authorize({ name, password }) {
        const user = checkPassword(name, password)
        return user && { id: String(user.id), name: user.name }
      },
    }),
  ],
}

const users = new Map(
  ['ada', 'grace'].map((name) => [`${name}@shop.example`, checkPassword(name, 'correct horse')]),
)
const sessions = new Map<string, AdapterSession>()
const links = new Map<string, VerificationToken>()
/** The links that were mailed, by address. */
export const mailbox = new Map<string, string>()

const findAdapterUser = (email: string): AdapterUser | null => {
  const user = users.get(email)
  return user ? { id: String(user.id), name: user.name, email, emailVerified: new Date() } : null
}
const findById = (id: string) =>
  [...users.keys()].map(findAdapterUser).find((user) => user?.id === id) ?? null

/** In a real application, the adapter of a database. */
export const adapter = {
  getUser: (id) => findById(id),
  getUserByEmail: (email) => findAdapterUser(email),
  getUserByAccount: () => null,
  updateUser: ({ id }) => findById(id) as AdapterUser,
  createVerificationToken(link) {
    links.set(link.token, link)
    return link
  },
  useVerificationToken({ token }) {
    const link = links.get(token) ?? null
    links.delete(token)
    return link
  },
  createSession(session) {
    sessions.set(session.sessionToken, session)
    return session
  },
  getSessionAndUser(token) {
    const session = sessions.get(token)
    const user = session && findById(session.userId)
    return session && user ? { session, user } : null
  },
  updateSession: ({ sessionToken }) => sessions.get(sessionToken) ?? null,
  deleteSession: (token) => void sessions.delete(token),
} satisfies Adapter

const withDatabase: AuthConfig = {
  ...common,
  adapter,
  session: { strategy: 'database' },
  providers: [
    {
      id: 'email',
      type: 'email',
      name: 'Email',
      from: 'shop@shop.example',
      maxAge: 600,
      options: {},
      sendVerificationRequest: ({ identifier, url }) => void mailbox.set(identifier, url),
    },
  ],
}

export function start(port: number, strategy: Strategy): Promise<RunningServer> {
  const config = strategy === 'jwt' ? withJwt : withDatabase
  const app = new Hono()
  app.all('/auth/*', async (c) => {
    const { method, headers } = c.req.raw
    const body = method === 'POST' ? await c.req.text() : null
    return Auth(new Request(c.req.url, { method, headers, body }), config)
  })
  app.get('/me', async (c) => {
    const session = await Auth(
      new Request(new URL('/auth/session', c.req.url), { headers: c.req.raw.headers }),
      config,
    )
    const found = (await session.json()) as { readonly user?: { readonly id: string } } | null
    return found?.user === undefined ? c.json({ error: 'Unauthorized' }, 401) : c.json({ id: found.user.id })
  })
  return serveFetch(app.fetch, port)
}
