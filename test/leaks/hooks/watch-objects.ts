import {
  RequestToken,
  securityRequirements,
  securitySchemes,
  TokenConfig,
  type TokenPayload,
} from '../../../packages/tokenlib/src/index.js'
import { current } from '../current-record.js'
import { secretsOfConfig } from '../secret-texts.js'
import { textsOfObject } from '../shown-texts.js'
import type { ShownText } from '../shown-windows.js'

/**
 * Sees every configuration, request token and payload.
 *
 * Configurations and payloads end their construction by closing themselves, so that is where they are met: whatever
 * made them, and wherever they go. So do request tokens, by their last field.
 */
export function watchObjects(): void {
  Object.seal = after(Object.seal, (value) => {
    if (value instanceof TokenConfig) seeConfig(value)
  })
  Object.freeze = after(Object.freeze, (value) => {
    if (isPayload(value)) seePayload(value)
  })
  // The constructor sets this field last.
  Object.defineProperty(RequestToken.prototype, 'csrf', {
    configurable: true,
    set(this: RequestToken, value: string | null) {
      Object.defineProperty(this, 'csrf', { value, writable: true, enumerable: true, configurable: true })
      seeRequestToken(this)
    },
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
  // Its claims are not checked yet.
  if (typeof payload.csrf === 'string') record?.addCsrf('a CSRF value', payload.csrf)
  record?.show('objects', (isThorough) => textsOfObject('TokenPayload', payload, isThorough))
}

function isPayload(value: object): value is TokenPayload {
  const prototype = Object.getPrototypeOf(value) as object | null
  const isBare = prototype !== null && Object.getPrototypeOf(prototype) === null
  return (
    isBare &&
    prototype !== Object.prototype &&
    'sub' in value &&
    'type' in value &&
    typeof value.type === 'string'
  )
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
