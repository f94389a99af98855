import { Controller, Get } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  createTokenDecorators,
  OptionalAuth,
  Public,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import { type RequestToken, TokenManager, type TokenPayload } from '../../packages/tokenlib/src/index.js'
import { createManager } from '../helpers/manager.js'
import { type Send, serve } from '../helpers/nest.js'

const clock = () => 1_767_225_600_000
const { config } = createManager().tokens
const tokens = new TokenManager({
  config,
  clock,
  claims: z.object({ age: z.number() }),
  subjectGetter: (uid) => ({ name: uid.toUpperCase() }),
})
const { tokens: admins } = createManager({ JWT_ALGORITHM: 'HS384' })
const TOKEN = tokens.createAccessToken({ uid: 'ada', age: 36 })
type UserPayload = TokenPayload<{ age: number }>

const {
  TokenClaims,
  OptionalTokenClaims,
  CurrentSubject,
  OptionalCurrentSubject,
  Token,
  InjectTokenManager,
} = createTokenDecorators<typeof tokens>()
const ofAdmins = createTokenDecorators<typeof admins>('admin')

@Controller()
class AppController {
  readonly #managers: readonly unknown[]

  constructor(
    @InjectTokenManager() users: typeof tokens,
    @ofAdmins.InjectTokenManager() others: typeof admins,
  ) {
    this.#managers = [users, others]
  }

  @Get('managers')
  @Public()
  managers() {
    return [this.#managers[0] === tokens, this.#managers[1] === admins]
  }

  @Get('required')
  required(
    @TokenClaims() payload: UserPayload,
    @CurrentSubject() subject: { name: string },
    @Token() token: RequestToken | null,
  ) {
    return [payload.age, subject.name, token?.location]
  }

  @Get('optional')
  @OptionalAuth()
  optional(
    @OptionalTokenClaims() payload: UserPayload | null,
    @OptionalCurrentSubject() subject: { name: string } | null,
  ) {
    return [payload?.age ?? null, subject?.name ?? null]
  }

  @Get('payload')
  @OptionalAuth()
  payload(@TokenClaims() payload: UserPayload) {
    return [payload.age]
  }

  @Get('subject')
  @OptionalAuth()
  subject(@CurrentSubject() subject: { name: string }) {
    return [subject.name]
  }

  @Get('admin')
  @Public()
  admin(
    @ofAdmins.TokenClaims() payload: TokenPayload,
    @ofAdmins.OptionalTokenClaims() same: TokenPayload | null,
  ) {
    return [payload.sub, same?.sub]
  }
}

describe('decorators that know the type of their manager', () => {
  let send: Send
  beforeEach(async () => {
    ;({ send } = await serve([AppController], {
      imports: [
        TokenModule.forRootAsync({ useFactory: () => ({ tokens }) }),
        TokenModule.forRoot({ tokens: admins, name: 'admin' }),
      ],
      providers: [{ provide: APP_GUARD, useClass: TokenGuard }],
      setUp: (app) => void app.useGlobalFilters(new TokenExceptionFilter()),
    }))
  })
  const read = async (path: string, token?: string): Promise<unknown> => {
    const response = await send(path, token === undefined ? {} : { token })
    return response.ok ? response.json() : ((await response.json()) as { code: string }).code
  }

  test('give what their types say', async () => {
    expect(await read('/managers')).toEqual([true, true])
    expect(await read('/required', TOKEN)).toEqual([36, 'ADA', 'headers'])
    expect(await read('/optional', TOKEN)).toEqual([36, 'ADA'])
    expect(await read('/optional')).toEqual([null, null])
    expect(await read('/admin', admins.createAccessToken({ uid: 'root' }))).toEqual(['root', 'root'])
  })

  test.each(['/required', '/payload', '/subject', '/admin'])(
    '%s: no null where the type has none, on optional routes either',
    async (path) => {
      expect(await read(path)).toBe('TOKEN_MISSING')
    },
  )
})
