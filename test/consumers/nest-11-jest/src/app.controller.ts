import { Body, Controller, Delete, Get, HttpCode, Post, UseGuards } from '@nestjs/common'
import { TokenManager, type TokenPayload } from 'tokenlib'
import { Public, RefreshTokenGuard, TokenClaims } from 'tokenlib/nest'

@Controller()
export class AppController {
  constructor(private readonly tokens: TokenManager) {}

  @Public()
  @Post('login')
  @HttpCode(200)
  async login(@Body() body: { uid: string }) {
    const { accessToken, refreshToken } = await this.tokens.sessions.open({ uid: body.uid })
    return { accessToken, refreshToken }
  }

  @Get('me')
  me(@TokenClaims() payload: TokenPayload) {
    return { id: payload.sub }
  }

  @Public()
  @UseGuards(RefreshTokenGuard)
  @Get('refresh-only')
  refreshOnly(@TokenClaims() payload: TokenPayload) {
    return { id: payload.sub }
  }

  @Delete('logout')
  async logout(@TokenClaims() payload: TokenPayload) {
    await this.tokens.logout(payload)
    return 'OK'
  }
}
