import { Controller, Get, Inject, Injectable, Module, UseGuards } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { Test } from '@nestjs/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  AccessTokenGuard,
  getTokenManagerToken,
  InjectTokenManager,
  TokenClaims,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { TokenConfig, TokenManager, type TokenPayload } from '../../packages/tokenlib/src/index.js'
import { createManager, SECRET } from '../helpers/manager.js'
import { naming } from '../helpers/naming.js'
import { serve } from '../helpers/nest.js'

const createConfig = (secret: string) => new TokenConfig({ JWT_SECRET_KEY: secret })
const { tokens } = createManager()
const { tokens: admins } = createManager({ JWT_SECRET_KEY: SECRET.toUpperCase() })
const TOKEN = tokens.createAccessToken({ uid: 'ada' })
const ADMIN = admins.createAccessToken({ uid: 'root' })

@Controller()
class WhoController {
  readonly #manager: TokenManager

  constructor(@Inject(TokenManager) manager: TokenManager) {
    this.#manager = manager
  }

  @Get('token')
  token() {
    return this.#manager.createAccessToken({ uid: 'ada' })
  }

  @Get('who')
  @UseGuards(AccessTokenGuard)
  who(@TokenClaims() payload: TokenPayload) {
    return [payload.sub, this.#manager.config.JWT_ALGORITHM]
  }
}

@Injectable()
class OptionsService {
  createTokenOptions() {
    return Promise.resolve({ tokens })
  }
}

describe('TokenModule', () => {
  test.each([
    ['forRoot with a manager', () => TokenModule.forRoot({ tokens })],
    ['forRoot with a configuration', () => TokenModule.forRoot({ config: createConfig(SECRET) })],
    [
      'forRootAsync with a function of injected values',
      () =>
        TokenModule.forRootAsync({
          imports: [
            {
              module: class Settings {},
              providers: [{ provide: 'SECRET', useValue: SECRET }],
              exports: ['SECRET'],
            },
          ],
          inject: ['SECRET'],
          useFactory: async (secret: string) => {
            await Promise.resolve()
            return { config: createConfig(secret) }
          },
        }),
    ],
    ['forRootAsync with a class', () => TokenModule.forRootAsync({ useClass: OptionsService })],
  ])('%s provides TokenManager to every module', async (_, create) => {
    @Module({ controllers: [WhoController] })
    class FeatureModule {}
    const { send } = await serve([], { imports: [create(), FeatureModule] })
    const token = await (await send('/token')).text()
    await expect((await send('/who', { token })).json()).resolves.toEqual(['ada', 'HS256'])
    expect((await send('/who')).status).toBe(500)
  })

  test('forRoot passes the schema of the claims on', async () => {
    const module = await Test.createTestingModule({
      imports: [TokenModule.forRoot({ config: createConfig(SECRET), claims: z.object({ age: z.number() }) })],
    }).compile()
    expect(() => module.get<TokenManager>(TokenManager).createAccessToken({ uid: 'ada', age: 'x' })).toThrow()
  })

  test('with global: false only modules that import it see the manager', async () => {
    @Module({ controllers: [WhoController] })
    class FeatureModule {}
    const imports = [TokenModule.forRoot({ tokens, global: false }), FeatureModule]
    await expect(Test.createTestingModule({ imports }).compile()).rejects.toThrow(/TokenManager/)
  })

  test('a module without a manager says what it needs', async () => {
    const config = createConfig(SECRET)
    for (const given of [{ tokens: config }, { tokens: undefined }] as never[]) {
      expect(() => TokenModule.forRoot(given)).toThrow(naming('TypeError', 'tokens', 'TokenManager'))
    }
    expect(() => TokenModule.forRoot({ tokens, config })).toThrow(
      naming('TypeError', 'config', 'tokens', 'both'),
    )
    expect(() => TokenModule.forRootAsync({} as never)).toThrow(naming('TypeError', 'useFactory', 'useClass'))
  })

  test('a wrong configuration ends the start', async () => {
    expect(() => TokenModule.forRoot({ config: new TokenConfig({}) })).toThrow(
      expect.objectContaining({ name: 'ConfigurationError' }),
    )
    const imports = [TokenModule.forRootAsync({ useFactory: () => ({ config: new TokenConfig({}) }) })]
    await expect(Test.createTestingModule({ imports }).compile()).rejects.toMatchObject({
      name: 'ConfigurationError',
    })
  })
})

describe('several managers', () => {
  @Controller()
  class Routes {
    readonly #managers: readonly TokenManager[]

    constructor(
      @InjectTokenManager() users: TokenManager,
      @InjectTokenManager('admin') admins: TokenManager,
    ) {
      this.#managers = [users, admins]
    }

    @Get('managers')
    managers() {
      return [this.#managers[0] === tokens, this.#managers[1] === admins]
    }
    @Get('user')
    @UseGuards(AccessTokenGuard)
    user(@TokenClaims() payload: TokenPayload) {
      return [payload.sub]
    }
    @Get('admin')
    @UseGuards(AccessTokenGuard.for('admin'))
    admin(@TokenClaims('admin') payload: TokenPayload) {
      return [payload.sub]
    }
    @Get('mixed')
    @UseGuards(AccessTokenGuard.for('admin'))
    mixed(@TokenClaims() payload: TokenPayload) {
      return [payload.sub]
    }
  }
  const imports = [
    TokenModule.forRoot({ tokens }),
    TokenModule.forRootAsync({ name: 'admin', useFactory: () => ({ tokens: admins }) }),
  ]

  test('stand side by side by name, each with its own tokens', async () => {
    const { send } = await serve([Routes], {
      imports,
      setUp: (app) => void app.useGlobalFilters(new TokenExceptionFilter()),
    })
    await expect((await send('/managers')).json()).resolves.toEqual([true, true])
    await expect((await send('/user', { token: TOKEN })).json()).resolves.toEqual(['ada'])
    await expect((await send('/admin', { token: ADMIN })).json()).resolves.toEqual(['root'])
    for (const [path, token] of [
      ['/user', ADMIN],
      ['/admin', TOKEN],
      ['/mixed', TOKEN],
      // What the guard of another manager verified is not what this parameter asks for.
      ['/mixed', ADMIN],
    ] as const)
      expect([path, (await send(path, { token })).status]).toEqual([path, 401])
  })

  test('a named one can guard the whole application', async () => {
    const { send } = await serve([WhoController], {
      imports,
      providers: [{ provide: APP_GUARD, useClass: TokenGuard.for('admin') }],
      override: (builder) => builder.overrideGuard(AccessTokenGuard).useValue({ canActivate: () => true }),
    })
    expect((await send('/who', { token: TOKEN })).status).toBe(500)
  })

  test('getTokenManagerToken names their providers', async () => {
    const module = await Test.createTestingModule({ imports }).compile()
    expect(module.get(getTokenManagerToken())).toBe(tokens)
    expect(module.get(TokenManager)).toBe(tokens)
    expect(module.get(getTokenManagerToken('admin'))).toBe(admins)
  })
})

describe('in tests of an application', () => {
  @Controller()
  class FakedController {
    @Get()
    @UseGuards(AccessTokenGuard)
    route(@TokenClaims() payload: TokenPayload) {
      return [payload.sub]
    }
  }

  test('overrideProvider(TokenManager) puts another manager, or a part of one, in its place', async () => {
    const fake = { accessTokenRequired: () => Promise.resolve({ sub: 'fake' }) }
    for (const manager of [fake, Object.assign(createManager().tokens, fake)]) {
      const { send } = await serve([FakedController], {
        imports: [TokenModule.forRoot({ tokens })],
        override: (builder) => builder.overrideProvider(TokenManager).useValue(manager),
      })
      await expect((await send('/')).json()).resolves.toEqual(['fake'])
    }
  })

  test('overrideGuard opens a route, and its parameter still asks for a token', async () => {
    const { send } = await serve([WhoController], {
      imports: [TokenModule.forRoot({ tokens })],
      override: (builder) => builder.overrideGuard(AccessTokenGuard).useValue({ canActivate: () => true }),
    })
    expect((await send('/who')).status).toBe(500)
    expect((await send('/who', { token: TOKEN })).status).toBe(200)
  })
})
