import {
  Body,
  Controller,
  Get,
  HttpCode,
  Inject,
  Module,
  Post,
  Req,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  decodeWithoutVerifying,
  type RequestSource,
  TokenConfig,
  TokenManager,
  type TokenPair,
  type TokenPayload,
} from 'tokenlib'
import { trustLegacyIssuer } from '@tokenlib/issuers'
import { AccessTokenGuard, TokenClaims, TokenExceptionFilter, TokenModule } from 'tokenlib/nest'
import { createMemoryStore } from 'tokenlib/memory'
import { type AfterSettings, type RunningSuccessor, toAnswer } from '../shared/application.js'
import { checkPassword, findUser, type User } from '../shared/users.js'
import { REFRESH_SECRET, SECRET } from './before.js'

/** In the environment too, and not one of the old secrets. */
const JWT_SECRET_KEY = 'uC5bYx9kWd2rMz7vPt4nHs1gJq8eLf6a'

function createTokens({ clock, acceptUntil }: AfterSettings) {
  const revocation = createMemoryStore({ clock })
  const old = { issuer: 'old-app', withoutIss: true, acceptUntil } as const
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY }),
    store: revocation,
    clock,
    issuers: [
      trustLegacyIssuer({
        ...old,
        secret: SECRET,
        // 24 bytes that were made at random.
        allowWeakSecret: true,
        mapping: { scopes: 'roles' },
        maxTokenAge: '15m',
      }),
    ],
  })
  // Only the exchange below uses it: no route takes what it accepts.
  const oldRefreshTokens = new TokenManager({
    config: new TokenConfig(),
    store: revocation,
    clock,
    issuers: [trustLegacyIssuer({ ...old, secret: REFRESH_SECRET, maxTokenAge: '60d' })],
  })
  return { tokens, oldRefreshTokens }
}

const OLD_REFRESH_TOKENS = 'OLD_REFRESH_TOKENS'

@Controller()
class AppController {
  readonly #tokens: TokenManager
  readonly #oldRefreshTokens: TokenManager

  constructor(
    @Inject(TokenManager) tokens: TokenManager,
    @Inject(OLD_REFRESH_TOKENS) oldRefreshTokens: TokenManager,
  ) {
    this.#tokens = tokens
    this.#oldRefreshTokens = oldRefreshTokens
  }

  @Post('login')
  async login(@Body() body: { name: string; password: string }) {
    const user = checkPassword(body.name, body.password)
    if (user === null) throw new UnauthorizedException()
    return toAnswer(await this.#logIn(user))
  }

  @Get('me')
  @UseGuards(AccessTokenGuard)
  me(@TokenClaims() payload: TokenPayload) {
    return { id: Number(payload.sub), roles: payload.scopes }
  }

  @Post('refresh')
  @HttpCode(200)
  async refresh(@Body('refresh_token') token: string) {
    // New tokens name their key. Only the choice depends on that: both kinds are verified.
    if ('kid' in decodeWithoutVerifying(token).header)
      return toAnswer(await this.#tokens.sessions.refresh(token))
    const old = await this.#oldRefreshTokens.verify(token)
    await this.#oldRefreshTokens.revoke.token(old)
    const user = findUser(old.sub)
    if (user === null) throw new UnauthorizedException()
    return toAnswer(await this.#logIn(user))
  }

  @Post('logout')
  @HttpCode(204)
  @UseGuards(AccessTokenGuard)
  async logout(@Req() request: RequestSource) {
    await this.#tokens.logout(request)
  }

  #logIn(user: User): Promise<TokenPair> {
    const claims = { uid: String(user.id), username: user.name }
    return this.#tokens.sessions.open(claims, { scopes: user.roles })
  }
}

export async function start(settings: AfterSettings): Promise<RunningSuccessor> {
  const { tokens, oldRefreshTokens } = createTokens(settings)
  await tokens.ready()
  await oldRefreshTokens.ready()

  @Module({
    imports: [TokenModule.forRoot({ tokens })],
    controllers: [AppController],
    providers: [{ provide: OLD_REFRESH_TOKENS, useValue: oldRefreshTokens }],
  })
  class AppModule {}

  const app = await NestFactory.create(AppModule, { logger: false, forceCloseConnections: true })
  app.useGlobalFilters(new TokenExceptionFilter({ config: tokens.config }))
  await app.listen(settings.port, '127.0.0.1')
  return { url: await app.getUrl(), close: () => app.close(), tokens }
}
