import { TokenConfig, TokenManager } from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { createMemoryStore } from 'tokenlib/memory'
import type { AfterSettings, RunningSuccessor } from '../shared/application.js'
import { startSuccessor } from '../shared/python-successor.js'
import { SECRET } from './before.js'

/** Not the secret of the FastAPI application. */
const JWT_SECRET_KEY = 'dN2rXw7kTb9vYz4mHq6sJc1gRe8fPu5a'

function createTokens({ clock, acceptUntil }: AfterSettings) {
  const revocation = createMemoryStore({ clock })
  const old = {
    issuer: 'https://api.example',
    secret: SECRET,
    acceptUntil,
  } as const
  const tokens = new TokenManager({
    // The fields have the names of AuthX.
    config: new TokenConfig({
      JWT_SECRET_KEY,
      // Not the old one: the `iss` says which rules a token is checked by.
      JWT_ENCODE_ISSUER: 'https://api.example/v2',
      JWT_DECODE_ISSUER: 'https://api.example/v2',
    }),
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
        maxTokenAge: '20d',
        mapping: { access: { claim: 'type', value: 'refresh' } },
      }),
    ],
  })
  return { tokens, oldRefreshTokens }
}

export function start(settings: AfterSettings): Promise<RunningSuccessor> {
  return startSuccessor(createTokens(settings), settings.port)
}
