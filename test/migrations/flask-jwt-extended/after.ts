import { TokenConfig, TokenManager } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { createMemoryStore } from 'tokenlib/memory'
import type { AfterSettings, RunningSuccessor } from '../shared/application.js'
import { startSuccessor } from '../shared/python-successor.js'
import { SECRET } from './before.js'

/** Not the secret of the Flask application. */
const JWT_SECRET_KEY = 'kJ9sWb4xNe7tVz2mQr6yHc1gPd8fLa5u'

function createTokens({ clock, acceptUntil }: AfterSettings) {
  const revocation = createMemoryStore({ clock })
  const old = {
    issuer: 'flask',
    withoutIss: true,
    secret: SECRET,
    acceptUntil,
  } as const
  const tokens = new TokenManager({
    // The names of cookies, headers and parameters are those of flask-jwt-extended.
    config: new TokenConfig({ JWT_SECRET_KEY, JWT_TOKEN_LOCATION: ['headers', 'cookies'] }),
    store: revocation,
    clock,
    issuers: [
      trustLegacyIssuer({
        ...old,
        maxTokenAge: '15m',
        // Refresh tokens have the same secret.
        mapping: { scopes: 'roles', access: { claim: 'type', value: 'access' } },
      }),
    ],
  })
  // Only the exchange below uses it: no route takes what it accepts.
  const oldRefreshTokens = new TokenManager({
    config: new TokenConfig(),
    store: revocation,
    clock,
    issuers: [
      trustLegacyIssuer({
        ...old,
        maxTokenAge: '30d',
        mapping: { access: { claim: 'type', value: 'refresh' } },
      }),
    ],
  })
  return { tokens, oldRefreshTokens }
}

export function start(settings: AfterSettings): Promise<RunningSuccessor> {
  return startSuccessor(createTokens(settings), settings.port)
}
