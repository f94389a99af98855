import {
  Controller,
  createParamDecorator,
  Get,
  Inject,
  Injectable,
  Module,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { JwtModule, JwtService } from '@nestjs/jwt'
import { AuthGuard, PassportStrategy } from '@nestjs/passport'
import { ExpressAdapter } from '@nestjs/platform-express'
import { ExtractJwt, Strategy } from 'passport-jwt'
import { AccessTokenGuard, TokenClaims, TokenExceptionFilter, TokenModule } from 'tokenlib/nest'
import { BARE_ANSWER } from './bare-answer.js'

/**
 * Nest on Express, its default.
 *
 * @type {import('../contestants.js').Framework}
 */
export const nestOnExpress = {
  bare: () => serve({ controllers: [createBareController()] }),

  // The Nest steps that tokenlib also takes: a guard that returns a promise, and a parameter with a pipe.
  empty() {
    class EmptyController {
      me() {
        return BARE_ANSWER
      }
    }
    class EmptyPipe {
      transform = async (value) => value
    }
    createParamDecorator(() => null)(undefined, EmptyPipe)(EmptyController.prototype, 'me', 0)
    return serve({ controllers: [toController(EmptyController, { canActivate: async () => true })] })
  },

  ours(tokens) {
    class OurController {
      me(payload) {
        return { id: payload.sub }
      }
    }
    TokenClaims()(OurController.prototype, 'me', 0)
    const controllers = [toController(OurController, AccessTokenGuard)]
    const metadata = { imports: [TokenModule.forRoot({ tokens })], controllers }
    return serve(metadata, new TokenExceptionFilter({ config: tokens.config }))
  },

  peers: {
    'passport-jwt'(secret, isRevoked) {
      const providers = [createStrategy(secret, isRevoked)]
      return serve({ controllers: [createUserController(AuthGuard('jwt'))], providers })
    },

    '@nestjs/jwt'(secret, isRevoked) {
      const imports = [JwtModule.register({ secret, verifyOptions: { algorithms: ['HS256'] } })]
      return serve({
        imports,
        controllers: [createUserController(createGuard(isRevoked))],
      })
    },
  },
}

function createBareController() {
  class BareController {
    me() {
      return BARE_ANSWER
    }
  }
  return toController(BareController)
}

function createUserController(guard) {
  class UserController {
    me(request) {
      return { id: request.user.sub }
    }
  }
  Req()(UserController.prototype, 'me', 0)
  return toController(UserController, guard)
}

// As in the documentation of Nest: a strategy whose `validate` sees the claims of a genuine token.
function createStrategy(secret, isRevoked) {
  class JwtStrategy extends PassportStrategy(Strategy) {
    constructor() {
      const jwtFromRequest = ExtractJwt.fromAuthHeaderAsBearerToken()
      super({ jwtFromRequest, secretOrKey: secret, algorithms: ['HS256'] })
    }

    async validate(payload) {
      if (isRevoked !== null && (await isRevoked(payload.jti))) throw new UnauthorizedException()
      return payload
    }
  }
  Injectable()(JwtStrategy)
  return JwtStrategy
}

// As in the documentation of Nest: a guard of one's own around the service.
function createGuard(isRevoked) {
  class JwtGuard {
    constructor(jwt) {
      this.jwt = jwt
    }

    async canActivate(context) {
      const request = context.switchToHttp().getRequest()
      const [type, token] = request.headers.authorization?.split(' ') ?? []
      if (type !== 'Bearer') throw new UnauthorizedException()
      try {
        request.user = await this.jwt.verifyAsync(token)
      } catch {
        throw new UnauthorizedException()
      }
      if (isRevoked !== null && (await isRevoked(request.user.jti))) throw new UnauthorizedException()
      return true
    }
  }
  Injectable()(JwtGuard)
  Inject(JwtService)(JwtGuard, undefined, 0)
  return JwtGuard
}

// By hand, what decorators do: there is no compiler here.
function toController(type, ...guards) {
  const { prototype } = type
  const method = Object.getOwnPropertyDescriptor(prototype, 'me')
  Get('me')(prototype, 'me', method)
  if (guards.length > 0) UseGuards(...guards)(prototype, 'me', method)
  Controller()(type)
  return type
}

async function serve(metadata, ...filters) {
  class AppModule {}
  Module(metadata)(AppModule)
  const app = await NestFactory.create(AppModule, new ExpressAdapter(), { logger: false })
  app.useGlobalFilters(...filters)
  await app.listen(0, '127.0.0.1')
  return app.getHttpServer()
}
