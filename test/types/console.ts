// Compiled, never run: what createConsole accepts.
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createConsole, type MountableRoutes } from '../../packages/console/src/index.js'

const tokens = new TokenManager({ config: new TokenConfig() })

export const routes: readonly MountableRoutes[] = [
  createConsole(tokens, { allow: tokens.accessTokenRequired }),
  createConsole(tokens, {
    allow: tokens.require({ scopes: ['operator'] }),
    actor: ({ sub, jti }) => `${sub} ${jti}`,
  }),
  createConsole(tokens, { allow: (request: Request) => request.headers.get('x-operator') ?? 'nobody' }),
  createConsole(tokens, { allow: async () => ({ name: 'grace' }), actor: ({ name }) => name }),
]

// @ts-expect-error A dependency whose value is always undefined checks nothing.
createConsole(tokens, { allow: () => undefined })
// @ts-expect-error It must be decided who may use it.
createConsole(tokens, { path: '/console' })
