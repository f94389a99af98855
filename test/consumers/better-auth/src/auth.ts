import { betterAuth } from 'better-auth'
import { memoryAdapter } from 'better-auth/adapters/memory'
import { APIError, createAuthMiddleware } from 'better-auth/api'
import { tokens } from './tokens.js'

export const auth = betterAuth({
  baseURL: process.env.ORIGIN,
  secret: process.env.BETTER_AUTH_SECRET,
  database: memoryAdapter({ user: [], session: [], account: [], verification: [] }), // in production: your database
  emailAndPassword: {
    enabled: true,
    onPasswordReset: async ({ user }) => void (await tokens.revoke.user(user.id)),
  },
  // Its session is only the way from the login to yours.
  session: { expiresIn: 300, disableSessionRefresh: true, cookieCache: { enabled: false } },
  hooks: {
    after: createAuthMiddleware(async ({ path, context }) => {
      if (path !== '/change-password' || context.returned instanceof APIError) return
      if (context.session) await tokens.revoke.user(context.session.user.id)
    }),
  },
  databaseHooks: {
    user: { delete: { after: async (user) => void (await tokens.revoke.user(user.id)) } },
  },
})
