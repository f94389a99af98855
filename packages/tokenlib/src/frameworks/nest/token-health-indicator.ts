import { Inject, Injectable, type Type } from '@nestjs/common'
import { TokenManager } from '../../manager.js'
import { assertOptions, type OptionNames } from '../../options.js'
import { type AnyManager, getTokenManagerToken } from './manager-token.js'

/** What an indicator tells `@nestjs/terminus`. */
export interface TokenHealth {
  readonly status: 'up' | 'down'
  /** Whether tokens can be checked. */
  readonly canCheck: boolean
  /** Whether logins, refreshes, logouts and revocations work. */
  readonly canWrite: boolean
  /** `null` for a manager without a store. */
  readonly responseTimeMs: number | null
  /** What does not work; the reason is in `tokens.health()`. */
  readonly message?: string
}

/** The options of `isHealthy`. */
export interface TokenHealthOptions {
  /** `check`, the default: up while tokens can be checked. `write`: up only while users can log in as well. */
  readonly need?: 'check' | 'write'
}

const OPTIONS: OptionNames<TokenHealthOptions> = { need: true }

/** A health indicator for `@nestjs/terminus`: whether a manager can check tokens, and whether users can log in. */
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

  /** What works at this moment, under `key`. Rejects only if the options are invalid. */
  async isHealthy<Key extends string = 'tokens'>(
    key?: Key,
    options: TokenHealthOptions = {},
  ): Promise<Record<Key, TokenHealth>> {
    assertOptions('isHealthy()', options, OPTIONS)
    const { need = 'check' } = options
    if (need !== 'check' && need !== 'write') throw new TypeError("need must be 'check' or 'write'")
    const { canCheck, canWrite, responseTimeMs } = await this.#tokens.health()
    // Not the error's own text: it may name hosts, and anybody may ask for health.
    const message = !canCheck ? 'Tokens cannot be checked' : 'Nobody can log in, and nothing can be revoked'
    const health: TokenHealth = {
      status: canCheck && (canWrite || need === 'check') ? 'up' : 'down',
      canCheck,
      canWrite,
      responseTimeMs,
      ...(!(canCheck && canWrite) && { message }),
    }
    return { [key ?? 'tokens']: health } as Record<Key, TokenHealth>
  }
}
Injectable()(TokenHealthIndicator)
Inject(TokenManager)(TokenHealthIndicator, undefined, 0)
