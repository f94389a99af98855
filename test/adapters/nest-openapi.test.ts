import { Controller, Delete, Get, type INestApplication, Post, UseGuards } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { ApiBearerAuth, ApiOperation, ApiResponse, DocumentBuilder, SwaggerModule } from '@nestjs/swagger'
import { expect, test } from 'vitest'
import {
  AccessTokenGuard,
  enforce,
  OptionalAuth,
  Public,
  RefreshTokenGuard,
  RequireScopes,
  SessionController,
  SessionModule,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import {
  describeSessionRoutes,
  type OpenApiOperation,
} from '../../packages/tokenlib/src/routes/session-routes.js'
import { createManager } from '../helpers/manager.js'
import { serve, type ServeOptions } from '../helpers/nest.js'
import { createRevocable } from '../helpers/revocable.js'
import type { Type } from '@nestjs/common'

const { tokens } = createManager()
const { tokens: admins } = createManager({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })

/** What the document says of each route, made before the application listens as most applications do. */
async function describeRoutes(
  controller: Type<object>,
  options: ServeOptions,
): Promise<Record<string, unknown>> {
  const routes: Record<string, unknown> = {}
  const setUp = (app: INestApplication): void => {
    const document = SwaggerModule.createDocument(app, new DocumentBuilder().build())
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { security }] of Object.entries(methods as Record<string, { security?: unknown }>))
        routes[`${method} ${path}`] = security
  }
  await serve([controller], { imports: [TokenModule.forRoot({ tokens })], ...options, setUp })
  return routes
}

test('guarded routes are marked, each with the schemes of its manager', async () => {
  @Controller()
  class Routes {
    @Get('open')
    open() {}
    @Get('enforced')
    @UseGuards(enforce(tokens.accessTokenRequired))
    enforced() {}
    @Get('guarded')
    @UseGuards(AccessTokenGuard)
    guarded() {}
    @Get('scoped')
    @RequireScopes('read')
    scoped() {}
    @Get('admin')
    @UseGuards(AccessTokenGuard.for('admin'))
    admin() {}
    @Delete('admin')
    @UseGuards(AccessTokenGuard.for('admin'))
    remove() {}
    @Get('foreign')
    @UseGuards({ canActivate: () => true })
    foreign() {}
    @Get('own')
    @UseGuards(AccessTokenGuard)
    @ApiBearerAuth('own')
    own() {}
  }
  const imports = [TokenModule.forRoot({ tokens: admins, name: 'admin' }), TokenModule.forRoot({ tokens })]
  await expect(describeRoutes(Routes, { imports })).resolves.toEqual({
    'get /open': undefined,
    'get /enforced': [{ bearerAuth: [] }],
    'get /guarded': [{ bearerAuth: [] }],
    'get /scoped': [{ bearerAuth: [] }],
    'get /admin': [{ bearerAuth: [] }, { cookieAuth: [] }],
    'delete /admin': [{ bearerAuth: [] }, { cookieAuth: [], csrfToken: [] }],
    'get /foreign': undefined,
    'get /own': [{ own: [] }],
  })
})

test('routes for refresh tokens are marked with the schemes of refresh tokens', async () => {
  class OwnRefreshGuard extends RefreshTokenGuard {}
  const { tokens } = createManager({
    JWT_TOKEN_LOCATION: ['headers', 'cookies'],
    JWT_REFRESH_TOKEN_LOCATION: ['cookies'],
  })
  @Controller()
  class Routes {
    @Post('refresh')
    @Public()
    @UseGuards(RefreshTokenGuard)
    refresh() {}
    @Get('own')
    @Public()
    @UseGuards(OwnRefreshGuard)
    own() {}
    @Get('enforced')
    @Public()
    @UseGuards(enforce(tokens.refreshTokenRequired))
    enforced() {}
    @Get('either')
    @Public()
    @UseGuards(enforce(tokens.tokenRequired))
    either() {}
    @Get('access')
    access() {}
  }
  const imports = [TokenModule.forRoot({ tokens })]
  const providers = [{ provide: APP_GUARD, useClass: TokenGuard }]
  await expect(describeRoutes(Routes, { imports, providers })).resolves.toEqual({
    'post /refresh': [{ refreshCookieAuth: [], csrfToken: [] }],
    'get /own': [{ refreshCookieAuth: [] }],
    'get /enforced': [{ refreshCookieAuth: [] }],
    'get /either': [{ bearerAuth: [] }, { cookieAuth: [] }, { refreshCookieAuth: [] }],
    'get /access': [{ bearerAuth: [] }, { cookieAuth: [] }],
  })
})

test('a guard of the controller marks all its routes', async () => {
  @Controller()
  @UseGuards(AccessTokenGuard)
  class Routes {
    @Get()
    get() {}
    @Post()
    post() {}
  }
  await expect(describeRoutes(Routes, {})).resolves.toEqual({
    'get /': [{ bearerAuth: [] }],
    'post /': [{ bearerAuth: [] }],
  })
})

test('TokenGuard marks all routes but those that @Public() and @OptionalAuth() loosen', async () => {
  @Controller()
  class Routes {
    @Get('required')
    required() {}
    @Get('public')
    @Public()
    open() {}
    @Get('optional')
    @OptionalAuth()
    optional() {}
    @Get('guarded')
    @Public()
    @UseGuards(AccessTokenGuard)
    guarded() {}
  }
  const providers = [{ provide: APP_GUARD, useClass: TokenGuard }]
  await expect(describeRoutes(Routes, { providers })).resolves.toEqual({
    'get /required': [{ bearerAuth: [] }],
    'get /public': undefined,
    'get /optional': [{}, { bearerAuth: [] }],
    'get /guarded': [{ bearerAuth: [] }],
  })
})

test('routes whose token can only be in a JSON body are not marked as open', async () => {
  @Controller()
  @UseGuards(TokenGuard)
  class Routes {
    @Post()
    post() {}
    @Post('optional')
    @OptionalAuth()
    optional() {}
  }
  const { tokens } = createManager({ JWT_TOKEN_LOCATION: 'json' })
  const imports = [TokenModule.forRoot({ tokens })]
  await expect(describeRoutes(Routes, { imports })).resolves.toEqual({
    'post /': undefined,
    'post /optional': undefined,
  })
})

// A route without security says nothing of it.
type Described = Omit<OpenApiOperation, 'security'> & { readonly security?: unknown }

test('the session routes have their real statuses, bodies and security', async () => {
  const { tokens: manager } = createRevocable({ JWT_TOKEN_LOCATION: ['headers', 'cookies'] })
  let document: ReturnType<typeof SwaggerModule.createDocument> | undefined
  await serve([], {
    imports: [TokenModule.forRoot({ tokens: manager }), SessionModule.forRoot({ logIn: () => null })],
    providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
    setUp: (app) => (document = SwaggerModule.createDocument(app, new DocumentBuilder().build())),
  })
  const { paths } = describeSessionRoutes(manager)
  expect(Object.keys(document?.paths ?? {}).toSorted()).toEqual(Object.keys(paths).toSorted())
  for (const [path, operations] of Object.entries(paths)) {
    const documented = document?.paths[path] as unknown as Record<string, Described>
    expect(Object.keys(documented).toSorted()).toEqual(Object.keys(operations).toSorted())
    for (const [method, { operationId: _id, security, parameters = [], ...operation }] of Object.entries(
      operations,
    )) {
      const { operationId: _own, security: own, ...rest } = documented[method] as Described
      expect(own ?? []).toEqual(security)
      expect(rest).toMatchObject({ ...operation, parameters })
      expect(rest.parameters).toHaveLength(parameters.length)
      expect(Object.keys(rest.responses)).toEqual(Object.keys(operation.responses))
    }
  }
})

test('what a controller of the application says about a session route takes precedence', async () => {
  const { tokens: manager } = createRevocable()
  class OwnController extends SessionController {
    @ApiOperation({ summary: 'Sign in' })
    @ApiResponse({ status: 200, description: 'Signed in' })
    override login(request: Request): Promise<Response> {
      return super.login(request)
    }
  }
  let document: ReturnType<typeof SwaggerModule.createDocument> | undefined
  await serve([], {
    imports: [
      TokenModule.forRoot({ tokens: manager }),
      SessionModule.forRoot({ logIn: () => null, controller: OwnController }),
    ],
    setUp: (app) => (document = SwaggerModule.createDocument(app, new DocumentBuilder().build())),
  })
  expect(document?.paths['/auth/login']?.post).toMatchObject({
    summary: 'Sign in',
    responses: { 200: { description: 'Signed in' } },
  })
})
