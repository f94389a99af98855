import { Inject } from '@nestjs/common'
import { TokenManager } from '../../manager.js'

/** A manager, whatever its claims are; only what takes claims or payloads is left out. */
export type AnyManager = Omit<
  TokenManager<never, object>,
  'setCallbackTokenBlocklist' | 'setTokenBlocklist' | 'setSubjectGetter'
>

/** The provider token of a manager: the class itself, or a text for one that was registered under a name. */
export function getTokenManagerToken(name?: string): typeof TokenManager | string {
  return name === undefined ? TokenManager : `TokenManager:${name}`
}

/** Injects the manager, or the one that was registered under a name. */
export function InjectTokenManager(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getTokenManagerToken(name))
}
