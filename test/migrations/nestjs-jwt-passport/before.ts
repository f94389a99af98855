import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Injectable,
  Module,
  Post,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { JwtModule, JwtService } from '@nestjs/jwt'
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport'
import { ExtractJwt, Strategy } from 'passport-jwt'
import type { RunningServer } from '../../../examples/server.js'
import { checkPassword, findUser, type User } from '../shared/users.js'

/** In the environment of a real application; the first has only 24 bytes. */
export const SECRET = 'qW7xZr2mKs9vTb4nYc6hJd1g'
export const REFRESH_SECRET = 'eN8fVt3kXp6wRz1yMb9sGq4cHj7dLu2a'

interface JwtPayload {
  readonly sub: number
  readonly username: string
  readonly roles: readonly string[]
}

@Injectable()
class JwtStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(), secretOrKey: SECRET })
  }

  validate(payload: JwtPayload) {
    return { id: payload.sub, roles: payload.roles }
  }
}

@Controller()
class AppController {
  readonly #jwt: JwtService

  constructor(@Inject(JwtService) jwt: JwtService) {
    this.#jwt = jwt
  }

  @Post('login')
  login(@Body() body: { name: string; password: string }) {
    const user = checkPassword(body.name, body.password)
    if (user === null) throw new UnauthorizedException()
    return this.#issue(user)
  }

  @Get('me')
  @UseGuards(AuthGuard('jwt'))
  me(@Req() request: { user: { id: number; roles: string[] } }) {
    return request.user
  }

  @Post('refresh')
  @HttpCode(200)
  async refresh(@Body('refresh_token') token: string) {
    try {
      const { sub } = await this.#jwt.verifyAsync<JwtPayload>(token, { secret: REFRESH_SECRET })
      return this.#issue(findUser(String(sub)) as User)
    } catch {
      throw new UnauthorizedException()
    }
  }

  #issue(user: User) {
    const payload = { sub: user.id, username: user.name, roles: user.roles }
    return {
      access_token: this.#jwt.sign(payload),
      refresh_token: this.#jwt.sign({ sub: user.id }, { secret: REFRESH_SECRET, expiresIn: '60d' }),
    }
  }
}

@Module({
  imports: [PassportModule, JwtModule.register({ secret: SECRET, signOptions: { expiresIn: '15m' } })],
  controllers: [AppController],
  providers: [JwtStrategy],
})
class AppModule {}

export async function start(port: number): Promise<RunningServer> {
  const app = await NestFactory.create(AppModule, { logger: false, forceCloseConnections: true })
  await app.listen(port, '127.0.0.1')
  return { url: await app.getUrl(), close: () => app.close() }
}
