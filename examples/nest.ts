import {
  BadRequestException,
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Module,
  Post,
  Req,
  type Type,
  UseGuards,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { RequestSource, RequestToken, TokenPayload } from 'tokenlib'
import {
  AccessTokenGuard,
  Depends,
  enforce,
  mount,
  TokenClaims,
  TokenExceptionFilter,
  TokenModule,
} from 'tokenlib/nest'
import { type Application, describeToken, type IssuedTokens } from './application.js'
import type { ExampleOptions } from './options.js'
import type { RunningServer } from './server.js'

/** The specification's application in NestJS on Express, listening. */
export function start(application: Application, options: ExampleOptions): Promise<RunningServer> {
  return listen(new ExpressAdapter(), application, options)
}

/** The same on Fastify. */
export function startOnFastify(application: Application, options: ExampleOptions): Promise<RunningServer> {
  return listen(new FastifyAdapter(), application, options)
}

async function listen(
  adapter: ExpressAdapter | FastifyAdapter,
  application: Application,
  options: ExampleOptions,
): Promise<RunningServer> {
  const { tokens } = application

  @Module({
    imports: [TokenModule.forRoot({ tokens })],
    controllers: [createController(application, options)],
  })
  class AppModule {}

  const app = await NestFactory.create(AppModule, adapter, { logger: false, forceCloseConnections: true })
  for (const routes of application.routes) app.use(mount(routes))
  if (options.handleErrors) app.useGlobalFilters(new TokenExceptionFilter({ config: tokens.config }))
  await app.listen(options.port, '127.0.0.1')
  return { url: await app.getUrl(), close: () => app.close() }
}

function createController(application: Application, options: ExampleOptions): Type<object> {
  const { tokens, getTokenDep, getOptionalTokenDep } = application

  @Controller()
  class AppController {
    @Get('token/mandatory')
    @UseGuards(AccessTokenGuard)
    @Header('content-type', 'application/json')
    mandatory(@Depends(getTokenDep) token: RequestToken): string {
      return JSON.stringify(describeToken(token))
    }

    @Get('token/optional')
    @Header('content-type', 'application/json')
    optional(@Depends(getOptionalTokenDep) token: RequestToken | null): string {
      return JSON.stringify(describeToken(token))
    }

    @Get('profile')
    @UseGuards(AccessTokenGuard)
    @Header('content-type', 'application/json')
    profile(@TokenClaims() payload: TokenPayload): unknown {
      return options.profile === 'payload' ? this.me(payload) : JSON.stringify('You are authenticated')
    }

    @Get('me')
    @UseGuards(enforce(tokens.accessTokenRequired))
    me(@Depends(tokens.accessTokenRequired) { sub, age, foo }: TokenPayload): object {
      return { id: sub, age, foo }
    }

    @Get('token')
    token(): object {
      return { access_token: tokens.createAccessToken({ uid: 'ada', foo: 'bar', age: 36 }) }
    }

    @Post('login')
    @HttpCode(200)
    async login(@Req() request: RequestSource, @Body() body?: unknown): Promise<IssuedTokens> {
      const issued = await application.login(body === undefined ? '' : JSON.stringify(body), { request })
      if (issued === null) throw new BadRequestException('uid must be a non-empty string')
      return issued
    }

    @Post('refresh')
    @HttpCode(200)
    refresh(@Depends(application.refresh) issued: IssuedTokens): IssuedTokens {
      return issued
    }

    // Nest resolves parameters concurrently; what must come first goes into a guard.
    @Delete('logout')
    @UseGuards(AccessTokenGuard)
    @Header('content-type', 'application/json')
    async logout(
      @TokenClaims() payload: TokenPayload,
      @Depends(getTokenDep) token: RequestToken,
    ): Promise<string> {
      await application.logout(token, payload)
      return JSON.stringify('OK')
    }
  }
  return AppController
}
