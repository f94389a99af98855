import { Body, Controller, Delete, Get, HttpCode, Post, UseGuards } from '@nestjs/common'
import { TokenManager, type TokenPayload } from 'tokenlib'
import { Payload, Public, RefreshTokenGuard } from 'tokenlib/nest'

@Controller()
export class AppController {
  constructor(private readonly tokens: TokenManager) {}

  @Public()
  @Post('login')
  @HttpCode(200)
  async login(@Body() body: { uid: string }) {
    const { accessToken, refreshToken } = await this.tokens.createTokenPair({ uid: body.uid })
    return { accessToken, refreshToken }
  }

  @Get('me')
  me(@Payload() payload: TokenPayload) {
    return { id: payload.sub }
  }

  @Public()
  @UseGuards(RefreshTokenGuard)
  @Get('refresh-only')
  refreshOnly(@Payload() payload: TokenPayload) {
    return { id: payload.sub }
  }

  @Delete('logout')
  async logout(@Payload() payload: TokenPayload) {
    await this.tokens.logout(payload)
    return 'OK'
  }
}
