import { randomBytes } from 'node:crypto'
import { Controller, Delete, Module, UseGuards } from '@nestjs/common'
import { APP_FILTER, APP_GUARD } from '@nestjs/core'
import { WebSocketGateway, WebSocketServer } from '@nestjs/websockets'
import { TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import * as tokenlib from 'tokenlib/nest'
import { createMemoryStore } from 'tokenlib/memory'
import type { Server } from 'ws'
import { checkPassword, describeUser } from './users.js'

export const tokens = new TokenManager({
  config: new TokenConfig({
    JWT_SECRET_KEY: process.env['JWT_SECRET_KEY'] ?? randomBytes(32),
    JWT_TOKEN_LOCATION: 'cookies',
    JWT_COOKIE_SECURE: process.env['NODE_ENV'] === 'production',
  }),
  // In production a store that all processes share, for example Redis.
  store: createMemoryStore(),
})
for (const event of ['loggedIn', 'loginFailed', 'loggedOut', 'revoked', 'reuseDetected', 'rejected'] as const)
  tokens.on(event, (facts) => console.log(JSON.stringify({ at: new Date(), event, ...facts })))

@Controller('notes')
class NotesController {
  @Delete()
  @UseGuards(tokenlib.FreshTokenGuard)
  deleteAll(@tokenlib.TokenClaims() { sub }: TokenPayload): object {
    return { message: `The notes of ${sub} are deleted` }
  }
}

/** Tells the pages of a user that the list of devices has changed. */
@WebSocketGateway({ path: '/live' })
class DevicesGateway {
  @WebSocketServer() readonly server!: Server

  afterInit(): void {
    for (const event of ['loggedIn', 'revoked'] as const) tokens.on(event, ({ sub }) => this.notify(sub))
  }

  notify(sub: string | null): void {
    for (const client of this.server.clients) {
      if (tokenlib.readUpgrade(client, tokens)?.payload.sub === sub) client.send('changed')
    }
  }
}

@Module({
  imports: [
    tokenlib.TokenModule.forRoot({ tokens }),
    tokenlib.SessionModule.forRoot({ logIn: checkPassword, describeUser }),
  ],
  controllers: [NotesController],
  providers: [
    DevicesGateway,
    { provide: APP_GUARD, useClass: tokenlib.TokenGuard },
    { provide: APP_FILTER, useClass: tokenlib.TokenExceptionFilter },
  ],
})
export class AppModule {}
