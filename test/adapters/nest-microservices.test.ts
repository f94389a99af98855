import { Controller, Get, Module, SetMetadata, type Type, UseGuards } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { describe, expect, test } from 'vitest'
import {
  AccessTokenGuard,
  enforce,
  Public,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { createManager } from '../helpers/manager.js'
import { serve, type ServeOptions } from '../helpers/nest.js'

// What @MessagePattern() and @EventPattern() of @nestjs/microservices write. The consumers in test/consumers have that
// package, and send messages to hybrid applications.
const MessagePattern = (pattern: string): MethodDecorator => SetMetadata('microservices:pattern', [pattern])

const { tokens } = createManager()

@Controller()
class OrdersController {
  @Get('orders')
  list() {
    return 'orders'
  }

  @MessagePattern('order')
  handle() {
    return 'ran'
  }
}

@Controller()
class PublicController {
  @MessagePattern('order')
  @Public()
  handle() {
    return 'ran'
  }
}

@Controller()
class GuardedController {
  @MessagePattern('order')
  @UseGuards(AccessTokenGuard)
  handle() {
    return 'ran'
  }
}

const tokenGuard = { provide: APP_GUARD, useClass: TokenGuard }
const accessGuard = { provide: APP_GUARD, useClass: AccessTokenGuard }
const enforcing = { provide: APP_GUARD, useValue: enforce(tokens.accessTokenRequired) }

const start = (controller: Type<object>, providers: NonNullable<ServeOptions['providers']>) => {
  @Module({ controllers: [controller] })
  class OrdersModule {}
  return serve([], { imports: [TokenModule.forRoot({ tokens }), OrdersModule], providers })
}

describe('a handler of microservice messages behind a global guard, which Nest may not run for it', () => {
  test.each([
    ['TokenGuard', tokenGuard],
    ['AccessTokenGuard', accessGuard],
    ['enforce()', enforcing],
  ])('does not start with %s', async (_, guard) => {
    await expect(start(OrdersController, [guard])).rejects.toMatchObject({
      code: 'CONFIGURATION_INVALID',
      message: expect.stringContaining('No global guard protects OrdersController.handle()') as string,
    })
  })

  test('starts with @Public(), which says that TokenGuard does not guard it', async () => {
    await expect(start(PublicController, [tokenGuard])).resolves.toBeDefined()
  })

  test('does not start with @Public() and a guard that does not know it', async () => {
    await expect(start(PublicController, [accessGuard])).rejects.toThrow(
      'make TokenGuard the global guard and mark the handler with @Public()',
    )
  })

  test('starts with a guard of this package on the handler, which refuses every message', async () => {
    await expect(start(GuardedController, [tokenGuard])).resolves.toBeDefined()
  })

  test('starts where no global guard promises anything', async () => {
    await expect(start(OrdersController, [])).resolves.toBeDefined()
  })
})
