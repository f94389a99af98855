import { Inject, Injectable, type Type } from '@nestjs/common'
import { TokenManager } from '../../manager/token-manager.js'
import { type AnyManager, getTokenManagerToken } from './manager-token.js'

/** What an indicator tells `@nestjs/terminus`. */
export interface TokenHealth {
  readonly status: 'up' | 'down'
  /** `null` for a manager without a store. */
  readonly responseTimeMs: number | null
  /** For a store that is down; the reason is in `tokens.health()`. */
  readonly message?: string
}

/** A health indicator for `@nestjs/terminus`: whether the revocation store of a manager answers. */
export class TokenHealthIndicator {
  readonly #tokens: Pick<AnyManager, 'health'>

  constructor(tokens: Pick<AnyManager, 'health'>) {
    this.#tokens = tokens
  }

  /** The same indicator for the manager that was registered under a name. */
  static for(name: string): Type<TokenHealthIndicator> {
    const Indicator = class extends TokenHealthIndicator {}
    Inject(getTokenManagerToken(name))(Indicator, undefined, 0)
    return Indicator
  }

  /** The state of the store at this moment, under `key`. Never rejects. */
  async isHealthy<Key extends string = 'tokens'>(key?: Key): Promise<Record<Key, TokenHealth>> {
    const { status, responseTimeMs, error } = await this.#tokens.health()
    const health: TokenHealth = {
      status,
      responseTimeMs,
      // Not the error's own text: it may name hosts, and anybody may ask for health.
      ...(error !== null && { message: 'Revocation store unavailable' }),
    }
    return { [key ?? 'tokens']: health } as Record<Key, TokenHealth>
  }
}
Injectable()(TokenHealthIndicator)
Inject(TokenManager)(TokenHealthIndicator, undefined, 0)
