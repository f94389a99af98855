import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Module,
  type ModuleMetadata,
  type OnModuleInit,
  RequestMethod,
  SetMetadata,
  type Type,
} from '@nestjs/common'
import { ApplicationConfig, ModulesContainer } from '@nestjs/core'
import { ConfigurationError } from '../../errors.js'
import type { TokenManager } from '../../manager.js'
import { callable, kindOf, type OptionKinds, parseOptions, required, text, unchecked } from '../../options.js'
import { createSessionRoutes, type SessionRoutesOptions } from '../../routes/session-routes.js'
import type { OpenApiOperation } from '../../routes/openapi.js'
import { routePath } from '../../routes/router.js'
import { describeRoutes, type DescribedManager } from '../../routes/session-routes/openapi.js'
import { assertRouteOptions, MEANT_OPTIONS, ROUTE_OPTIONS } from '../../routes/session-routes/options.js'
import type { AnyClaims } from '../../tokens/payload.js'
import { getTokenManagerToken } from './context.js'
import { METADATA, reflector } from './metadata.js'
import {
  isSessionController,
  mountController,
  SESSION_ROUTES,
  SessionController,
  SessionRoutesSource,
} from './session-controller.js'

/** How the session routes are registered. */
export interface SessionModuleExtras extends Pick<ModuleMetadata, 'imports'> {
  /** The name of the manager, if it was registered under one. */
  readonly name?: string
  /** Where the controller is, before prefixes of the application. Default `/auth`. */
  readonly path?: string
  /** A class that extends `SessionController`; the modules of what it injects go into `imports`. */
  readonly controller?: Type<SessionController>
}

/** What `useFactory` returns; the path is needed before. The module cannot know the claims of its manager. */
export type SessionModuleOptions = Omit<SessionRoutesOptions<object, AnyClaims>, 'path' | 'deviceBound'>

/** How `forRootAsync` gets the options of the routes. */
export interface SessionModuleAsyncOptions extends SessionModuleExtras {
  readonly inject?: NonNullable<FactoryProvider['inject']>
  readonly useFactory: (...injected: never[]) => SessionModuleOptions | Promise<SessionModuleOptions>
}

const EXTRAS: OptionKinds<SessionModuleExtras> = {
  name: text,
  path: routePath,
  controller: kindOf('a class that extends SessionController', isSessionController),
  imports: unchecked(),
}
const ASYNC_OPTIONS: OptionKinds<SessionModuleAsyncOptions> = {
  ...EXTRAS,
  inject: unchecked(),
  useFactory: required(callable()),
}
const MEANT = {
  ...MEANT_OPTIONS,
  clientIp: 'TokenModule.forRoot({ clientIp })',
  formatError: 'TokenModule.forRoot({ formatError })',
}

/** Registers the session routes as a controller. The manager comes from the container. */
export class SessionModule implements OnModuleInit {
  readonly #open: () => void

  constructor(open: () => void) {
    this.#open = open
  }

  /** By now the application has its prefixes; the paths of cookies are compared with the path that clients see. */
  onModuleInit(): void {
    this.#open()
  }

  /** Registers routes whose options are known. */
  static forRoot(options: SessionModuleOptions & SessionModuleExtras): DynamicModule {
    const parsed = parseOptions('SessionModule.forRoot()', options, { ...ROUTE_OPTIONS, ...EXTRAS }, MEANT)
    const { name: _name, path: _path, controller: _controller, imports: _imports, ...routes } = parsed
    assertRouteOptions(routes)
    return createModule(parsed, { useFactory: () => routes })
  }

  /** Registers routes whose options need other providers, such as a service that knows the users. */
  static forRootAsync(options: SessionModuleAsyncOptions): DynamicModule {
    const {
      inject = [],
      useFactory,
      ...extras
    } = parseOptions('SessionModule.forRootAsync()', options, ASYNC_OPTIONS)
    return createModule(extras, {
      inject,
      useFactory: async (...injected: never[]) => {
        const routes = await useFactory(...injected)
        assertRouteOptions(routes)
        if (!('path' in routes)) return routes
        throw new TypeError('path is an option of SessionModule.forRootAsync(), next to useFactory')
      },
    })
  }
}
Module({})(SessionModule)

const OPTIONS = Symbol('SessionModuleOptions')
const OPEN = Symbol('SessionModule')
Inject(OPEN)(SessionModule, undefined, 0)

function createModule(
  { name, path = '/auth', controller = SessionController, imports = [] }: SessionModuleExtras,
  provider: Pick<FactoryProvider, 'inject' | 'useFactory'>,
): DynamicModule {
  const mounted = mountController(controller, path)
  const createOpen = (
    source: SessionRoutesSource,
    tokens: TokenManager<object, AnyClaims, unknown, object>,
    options: SessionModuleOptions,
    ...places: [ApplicationConfig, ModulesContainer]
  ) => {
    // A choice of managers is refused later, when the routes are created.
    if ((tokens as Partial<TokenManager>).config !== undefined) markSessionRoutes(mounted, tokens)
    return () => {
      // The controller has a method for each route of an application, and none for those that only browsers call.
      if ((options as SessionRoutesOptions<object>).deviceBound === true) {
        throw new ConfigurationError(
          'SessionModule has no deviceBound: use mount() with createSessionRoutes()',
        )
      }
      const routes = { ...options, path: toRealPath(path, ...places) } as SessionRoutesOptions<object>
      source.routes = createSessionRoutes(tokens, routes)
    }
  }
  const manager = getTokenManagerToken(name)
  return {
    module: SessionModule,
    imports,
    controllers: [mounted],
    providers: [
      SessionRoutesSource,
      { provide: OPTIONS, ...provider },
      {
        provide: OPEN,
        inject: [SessionRoutesSource, manager, OPTIONS, ApplicationConfig, ModulesContainer],
        useFactory: createOpen,
      },
    ],
  }
}

// What Nest makes of the path: the prefix of the application, the prefix of the module, and the path itself.
function toRealPath(path: string, application: ApplicationConfig, modules: ModulesContainer): string {
  // Where `RouterModule` writes.
  const key = METADATA.modulePath + modules.applicationId
  const modulePath = reflector.get<string | undefined>(key, SessionModule) ?? ''
  const local = withSlash(modulePath) + path
  const prefix = withSlash(application.getGlobalPrefix() ?? '')
  if (prefix === '' || isExcluded(local, application)) return local
  if (!`${path}/`.startsWith(`${prefix}/`)) return prefix + local
  throw new ConfigurationError(
    `The path ${path} of SessionModule begins with the global prefix, which Nest adds to it: leave it out`,
  )
}

function isExcluded(local: string, application: ApplicationConfig): boolean {
  const { exclude = [] } = application.getGlobalPrefixOptions()
  const excluded = SESSION_ROUTES.filter(([, verb, below]) =>
    exclude.some(
      ({ pathRegex, requestMethod }) =>
        (requestMethod === RequestMethod.ALL || requestMethod === RequestMethod[verb]) &&
        pathRegex.test(`${local}/${below}`),
    ),
  )
  if (excluded.length === 0 || excluded.length === SESSION_ROUTES.length) return excluded.length > 0
  throw new ConfigurationError(
    `setGlobalPrefix() excludes some of the session routes: exclude all of them with '${local.slice(1)}/*path', or none`,
  )
}

function withSlash(prefix: string): string {
  const trimmed = prefix.replace(/^\/+|\/+$/g, '')
  return trimmed === '' ? '' : `/${trimmed}`
}

// What was written here for another manager may be replaced: controllers of one class share their handlers.
const written = new WeakSet<object>()

// Tells @nestjs/swagger about the session routes of a controller, except what its class says itself.
function markSessionRoutes(controller: Type<SessionController>, tokens: DescribedManager): void {
  const prototype = controller.prototype as unknown as Record<string, () => unknown>
  for (const [name, operation] of describeRoutes(tokens)) {
    const handler = prototype[name] as () => unknown
    const mark = (key: string, value: object | undefined): void => {
      const stated = reflector.get<object | undefined>(key, handler)
      if (stated !== undefined && !written.has(stated)) return
      if (value !== undefined) written.add(value)
      SetMetadata(key, value)(handler)
    }
    mark(METADATA.apiOperation, { summary: operation.summary })
    mark(METADATA.apiResponses, toResponses(operation))
    mark(METADATA.apiParameters, toParameters(operation))
    mark(METADATA.apiSecurity, operation.security.length > 0 ? operation.security : undefined)
  }
}

function toResponses({ responses }: OpenApiOperation): object {
  const entries = Object.entries(responses).map(([status, { description, content }]) => [
    status,
    { description, ...(content !== undefined && { schema: content['application/json'].schema }) },
  ])
  return Object.fromEntries(entries) as object
}

function toParameters({ parameters = [], requestBody }: OpenApiOperation): readonly object[] {
  const copies = parameters.map((parameter) => ({ ...parameter }))
  if (requestBody === undefined) return copies
  const { required, content } = requestBody
  // Its `type` only keeps the package from looking for a class.
  return [...copies, { in: 'body', required, type: String, schema: content['application/json'].schema }]
}
