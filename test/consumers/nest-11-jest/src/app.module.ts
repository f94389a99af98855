import { Module } from '@nestjs/common'
import { APP_FILTER, APP_GUARD } from '@nestjs/core'
import { TokenConfig } from 'tokenlib'
import { TokenExceptionFilter, TokenGuard, TokenModule } from 'tokenlib/nest'
import { createMemoryStore } from 'tokenlib/memory'
import { AppController } from './app.controller'

@Module({
  imports: [
    TokenModule.forRootAsync({
      useFactory: () => ({
        config: new TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes' }),
        store: createMemoryStore(),
      }),
    }),
  ],
  controllers: [AppController],
  providers: [
    { provide: APP_GUARD, useClass: TokenGuard },
    { provide: APP_FILTER, useClass: TokenExceptionFilter },
  ],
})
export class AppModule {}
