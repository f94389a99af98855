import {
  RequestToken,
  securityRequirements,
  securitySchemes,
  TokenConfig,
  type TokenPayload,
} from '../../../src/index.js'
import { current } from '../current-record.js'
import { secretsOfConfig } from '../secret-texts.js'
import { textsOfObject } from '../shown-texts.js'
import type { ShownText } from '../shown-windows.js'

/**
 * Sees every configuration, request token and payload.
 *
 * Each of them ends its construction by closing itself, so that is where they are met: whatever made them, and
 * wherever they go.
 */
export function watchObjects(): void {
  Object.seal = after(Object.seal, (value) => {
    if (value instanceof TokenConfig) seeConfig(value)
  })
  Object.freeze = after(Object.freeze, (value) => {
    if (value instanceof RequestToken) seeRequestToken(value)
    else if (isPayload(value)) seePayload(value)
  })
}

function seeConfig(config: TokenConfig): void {
  const { record } = current
  // Fields may still be set, until a manager is built.
  record?.show('objects', () => {
    for (const secret of secretsOfConfig(config)) record.addSecret(secret)
    return [...textsOfObject('TokenConfig', config), ...describe(config)]
  })
}

function describe(config: TokenConfig): ShownText[] {
  const description = { ...securitySchemes(config), security: securityRequirements(config, 'POST') }
  return textsOfObject('OpenAPI description', description)
}

function seeRequestToken(found: RequestToken): void {
  const { record } = current
  record?.addToken('a token in a request', found.token)
  if (found.csrf !== null) record?.addCsrf('a CSRF value in a request', found.csrf)
  record?.show('objects', (isThorough) => textsOfObject('RequestToken', found, isThorough))
}

function seePayload(payload: TokenPayload): void {
  const { record } = current
  if (payload.csrf !== undefined) record?.addCsrf('a CSRF value', payload.csrf)
  record?.show('objects', (isThorough) => textsOfObject('TokenPayload', payload, isThorough))
}

function isPayload(value: object): value is TokenPayload {
  const isBare = Object.getPrototypeOf(value) === null
  return isBare && 'sub' in value && 'type' in value && typeof value.type === 'string'
}

function after<Method extends (value: never) => unknown>(
  method: Method,
  see: (value: object) => void,
): Method {
  return new Proxy(method, {
    apply(target, self, given) {
      const value: unknown = Reflect.apply(target, self, given)
      if (typeof value === 'object' && value !== null) see(value)
      return value
    },
  })
}
