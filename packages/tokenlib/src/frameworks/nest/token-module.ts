import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Injectable,
  Logger,
  Module,
  type ModuleMetadata,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Type,
} from '@nestjs/common'
import { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import type { ManagerChoice } from '../../choose-manager.js'
import { ConfigurationError } from '../../errors.js'
import type { TokenManagerOptions } from '../../manager-options.js'
import { TokenManager } from '../../manager.js'
import { callable, choice, flag, type OptionKinds, parseOptions, text, unchecked } from '../../options.js'
import type { JsonClaims } from '../../tokens/extra-claims.js'
import type { AnyClaims } from '../../tokens/payload.js'
import { type AnyManager, getTokenManagerToken, InjectTokenManager } from './context.js'
import { assertGuarded, markSecurity } from './guarded-handlers.js'
import { internalsOf } from '../../sessions/internals.js'

/** What a manager is built from, one that is built already, or a choice among several. */
export type TokenSource<Input extends object, Output extends object, Subject> =
  | TokenManagerOptions<Input, Output, Subject, object>
  | { readonly tokens: TokenManager<Input, Output, Subject, object> }
  | { readonly tokens: ManagerChoice<unknown> }

/** How a manager is registered. */
export interface TokenModuleExtras {
  /** For several managers side by side; without one the manager is the provider of `TokenManager`. */
  readonly name?: string
  /** Whether every module sees the manager. Default `true`. */
  readonly global?: boolean
}

/** How `forRootAsync` gets what a manager is built from. */
export type TokenModuleAsyncOptions<
  Input extends object,
  Output extends object,
  Subject,
> = TokenModuleExtras &
  Pick<ModuleMetadata, 'imports'> &
  (
    | {
        readonly inject?: NonNullable<FactoryProvider['inject']>
        readonly useFactory: (...injected: never[]) => Eventual<TokenSource<Input, Output, Subject>>
      }
    | { readonly useClass: Type<TokenOptionsFactory<Input, Output, Subject>> }
  )

const ASYNC_OPTIONS = {
  name: text,
  global: flag,
  imports: unchecked(),
  inject: unchecked(),
  useFactory: callable<never>(),
  useClass: callable<never>(),
}

/** A class that `forRootAsync` can use. */
export interface TokenOptionsFactory<
  Input extends object = JsonClaims,
  Output extends object = AnyClaims,
  Subject = unknown,
> {
  createTokenOptions(): Eventual<TokenSource<Input, Output, Subject>>
}

type Eventual<Value> = Value | Promise<Value>

/** Registers a `TokenManager` in Nest's container. */
export class TokenModule implements OnModuleInit, OnApplicationShutdown {
  readonly #modules: ModulesContainer
  readonly #application: ApplicationConfig
  readonly #tokens: Partial<TokenManager>

  constructor(modules: ModulesContainer, { tokens, name }: Registration, application: ApplicationConfig) {
    if (tokens.config !== undefined) markSecurity(modules, tokens.config, name)
    this.#modules = modules
    this.#application = application
    this.#tokens = tokens
  }

  /** By now Nest has connected the gateways, and knows the global guards. */
  onModuleInit(): void {
    assertGuarded(this.#modules, this.#application)
    if (isBuiltHere(this.#tokens) && internalsOf(this.#tokens).isClosed) throw new ConfigurationError(CLOSED)
  }

  /** By now the servers have stopped. A manager that the application built itself may still be in use elsewhere. */
  async onApplicationShutdown(): Promise<void> {
    if (!isBuiltHere(this.#tokens)) return
    try {
      await this.#tokens.close?.()
    } catch (error) {
      // The hooks of the other modules must run all the same.
      new Logger(TokenModule.name).error(error)
    }
  }

  /** Registers a manager whose configuration is known. */
  static forRoot<Input extends object, Output extends object, Subject>(
    options: TokenSource<Input, Output, Subject> & TokenModuleExtras,
  ): DynamicModule {
    assertSource(options)
    const { name: _name, global: _global, ...source } = options
    const tokens = toManager(source as TokenSource<Input, Output, Subject>)
    return createModule(options, { useFactory: () => tokens })
  }

  /** Registers a manager whose configuration other providers know. */
  static forRootAsync<Input extends object, Output extends object, Subject>(
    options: TokenModuleAsyncOptions<Input, Output, Subject>,
  ): DynamicModule {
    parseOptions('TokenModule.forRootAsync()', options, ASYNC_OPTIONS)
    const { imports = [] } = options
    if ('useFactory' in options) {
      const useFactory = async (...injected: never[]) => toManager(await options.useFactory(...injected))
      return { ...createModule(options, { inject: options.inject ?? [], useFactory }), imports }
    }
    const { useClass } = options
    if (useClass === undefined) {
      throw new TypeError('TokenModule.forRootAsync() needs useFactory or useClass')
    }
    const useFactory = async (factory: InstanceType<typeof useClass>) =>
      toManager(await factory.createTokenOptions())
    const module = createModule(options, { inject: [useClass], useFactory })
    return { ...module, imports, providers: [useClass, ...(module.providers ?? [])] }
  }
}
Module({})(TokenModule)
Inject(ModulesContainer)(TokenModule, undefined, 0)

/** Tells the instance of a module which manager is its own; one of a test may be only a part of a manager. */
interface Registration extends TokenModuleExtras {
  readonly tokens: Partial<TokenManager>
}
const REGISTRATION = Symbol('TokenModule')
Inject(REGISTRATION)(TokenModule, undefined, 1)
Inject(ApplicationConfig)(TokenModule, undefined, 2)

// Managers that were built from options. They are closed with the application.
const built = new WeakSet<object>()
const isBuiltHere = (tokens: object): boolean => built.has(tokens)

const CLOSED =
  'The manager of TokenModule.forRoot() was closed with an earlier application. To start several applications, build a ' +
  'manager for each: TokenModule.forRootAsync({ useFactory: () => ({ config, store: createStore() }) })'

function toManager<Input extends object, Output extends object, Subject>(
  source: TokenSource<Input, Output, Subject>,
): TokenManager<Input, Output, Subject, object> {
  assertSource(source)
  if (!('tokens' in source)) {
    const tokens = new TokenManager(source)
    built.add(tokens)
    return tokens
  }
  const [other] = Object.keys(source).filter((name) => name !== 'tokens')
  if (other !== undefined) {
    throw new TypeError(
      `"${other}" cannot be combined with "tokens": TokenModule takes { tokens } or the options of a manager, not both`,
    )
  }
  if (typeof (source.tokens as Partial<TokenManager> | undefined)?.accessTokenRequired !== 'function') {
    throw new TypeError('tokens must be a TokenManager, or what chooseManager() returns')
  }
  // A choice has the dependencies of a manager, which is what guards and parameters take from the container.
  return source.tokens as TokenManager<Input, Output, Subject, object>
}

function assertSource(source: unknown): void {
  if (typeof source === 'object' && source !== null && !(source instanceof TokenManager)) return
  throw new TypeError('TokenModule takes { tokens }, or the options of a manager: { config, store }')
}

function createModule(
  { name, global = true }: TokenModuleExtras,
  provider: Pick<FactoryProvider, 'inject' | 'useFactory'>,
): DynamicModule {
  const token = getTokenManagerToken(name)
  const register = (tokens: Partial<TokenManager>): Registration =>
    name === undefined ? { tokens } : { tokens, name }
  const registration = { provide: REGISTRATION, inject: [token], useFactory: register }
  return {
    module: TokenModule,
    global,
    providers: [{ provide: token, ...provider }, registration],
    exports: [token],
  }
}

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

const HEALTH_OPTIONS: OptionKinds<TokenHealthOptions> = { need: choice(['check', 'write']) }

/** A health indicator for `@nestjs/terminus`: whether a manager can check tokens, and whether users can log in. */
export class TokenHealthIndicator {
  readonly #tokens: Pick<AnyManager, 'health'>

  constructor(tokens: Pick<AnyManager, 'health'>) {
    this.#tokens = tokens
  }

  /** The same indicator for the manager that was registered under a name. */
  static for(name: string): Type<TokenHealthIndicator> {
    const Indicator = class extends TokenHealthIndicator {}
    InjectTokenManager(name)(Indicator, undefined, 0)
    return Indicator
  }

  /** What works at this moment, under `key`. Rejects only if the options are invalid. */
  async isHealthy<Key extends string = 'tokens'>(
    key?: Key,
    options: TokenHealthOptions = {},
  ): Promise<Record<Key, TokenHealth>> {
    const { need = 'check' } = parseOptions('isHealthy()', options, HEALTH_OPTIONS)
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
InjectTokenManager()(TokenHealthIndicator, undefined, 0)
