import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Module,
  type ModuleMetadata,
  type OnModuleInit,
  type Type,
} from '@nestjs/common'
import { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import type { AnyClaims } from '../../claims/payload.js'
import type { ManagerChoice } from '../../manager/choose-manager.js'
import type { TokenConfig } from '../../manager/config.js'
import type { JsonClaims } from '../../claims/extra-claims.js'
import type { TokenManagerOptions } from '../../manager/manager-options.js'
import { TokenManager } from '../../manager/token-manager.js'
import { assertOptions } from '../../options.js'
import { assertGateways } from './protect-sockets.js'
import { getTokenManagerToken } from './manager-token.js'
import { markSecurity } from './mark-security.js'

/** What a manager is built from, one that is built already, or a choice among several. */
export type TokenSource<Input extends object, Output extends object, Subject> =
  | TokenManagerOptions<Input, Output, Subject>
  | { readonly tokens: TokenManager<Input, Output, Subject> }
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
  name: true,
  global: true,
  imports: true,
  inject: true,
  useFactory: true,
  useClass: true,
} as const

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
export class TokenModule implements OnModuleInit {
  readonly #modules: ModulesContainer
  readonly #application: ApplicationConfig

  constructor(modules: ModulesContainer, { config, name }: Registration, application: ApplicationConfig) {
    if (config !== undefined) markSecurity(modules, config, name)
    this.#modules = modules
    this.#application = application
  }

  /** By now Nest has connected the gateways, and knows the global guards. */
  onModuleInit(): void {
    assertGateways(this.#modules, this.#application)
  }

  /** Registers a manager whose configuration is known. */
  static forRoot<Input extends object, Output extends object, Subject>(
    options: TokenSource<Input, Output, Subject> & TokenModuleExtras,
  ): DynamicModule {
    const { name: _name, global: _global, ...source } = options
    const tokens = toManager(source as TokenSource<Input, Output, Subject>)
    return createModule(options, { useFactory: () => tokens })
  }

  /** Registers a manager whose configuration other providers know. */
  static forRootAsync<Input extends object, Output extends object, Subject>(
    options: TokenModuleAsyncOptions<Input, Output, Subject>,
  ): DynamicModule {
    assertOptions('TokenModule.forRootAsync()', options, ASYNC_OPTIONS)
    const { imports = [] } = options
    if ('useFactory' in options) {
      const useFactory = async (...injected: never[]) => toManager(await options.useFactory(...injected))
      return { ...createModule(options, { inject: options.inject ?? [], useFactory }), imports }
    }
    const { useClass } = options
    const useFactory = async (factory: InstanceType<typeof useClass>) =>
      toManager(await factory.createTokenOptions())
    const module = createModule(options, { inject: [useClass], useFactory })
    return { ...module, imports, providers: [useClass, ...(module.providers ?? [])] }
  }
}
Module({})(TokenModule)
Inject(ModulesContainer)(TokenModule, undefined, 0)

/** Tells the instance of a module which manager is its own; a manager of a test may have no configuration. */
interface Registration extends TokenModuleExtras {
  readonly config?: TokenConfig
}
const REGISTRATION = Symbol('TokenModule')
Inject(REGISTRATION)(TokenModule, undefined, 1)
Inject(ApplicationConfig)(TokenModule, undefined, 2)

function toManager<Input extends object, Output extends object, Subject>(
  source: TokenSource<Input, Output, Subject>,
): TokenManager<Input, Output, Subject> {
  if (!('tokens' in source)) return new TokenManager(source)
  assertOptions('TokenModule.forRoot()', source, { tokens: true })
  // A choice has the dependencies of a manager, which is what guards and parameters take from the container.
  return source.tokens as TokenManager<Input, Output, Subject>
}

function createModule(
  { name, global = true }: TokenModuleExtras,
  provider: Pick<FactoryProvider, 'inject' | 'useFactory'>,
): DynamicModule {
  const token = getTokenManagerToken(name)
  const register = ({ config }: Registration): object => ({ config, name })
  const registration = { provide: REGISTRATION, inject: [token], useFactory: register }
  return {
    module: TokenModule,
    global,
    providers: [{ provide: token, ...provider }, registration],
    exports: [token],
  }
}
