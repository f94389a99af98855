// Compiled by `npm run typecheck`, never run: each line that must not compile has @ts-expect-error.
import { Controller, Get, Inject, Param, Res, UseGuards } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import type { Response } from 'express'
import { type Dependency, type RequestToken, TokenConfig, TokenManager, type TokenPayload } from 'tokenlib'
import {
  AccessTokenGuard,
  createTokenDecorators,
  Depends,
  enforce,
  readUpgrade,
  RequireScopes,
  sendCookies,
  SessionModule,
  TokenGuard,
  TokenModule,
} from 'tokenlib/nest'
import { z } from 'zod'

const config = new TokenConfig({ JWT_SECRET_KEY: 's' })
const claims = z.object({ age: z.number() })
const tokens = new TokenManager({ config, claims, subjectGetter: (uid) => ({ name: uid }) })
const plain = new TokenManager({ config })
declare const getTokenDep: Dependency<RequestToken>
const one = (): number => 1

/** The payload of this application. */
type AppPayload = TokenPayload<{ age: number }>

// The declared type of a parameter is checked against what the dependency gives.
@Controller()
export class TypedController {
  readonly #tokens: TokenManager

  constructor(@Inject(TokenManager) tokens: TokenManager) {
    this.#tokens = tokens
  }

  @Get('me/:id')
  @UseGuards(enforce(tokens.accessTokenRequired), AccessTokenGuard)
  me(
    @Param('id') id: string,
    @Depends(tokens.accessTokenRequired) payload: AppPayload,
    @Depends(getTokenDep) token: RequestToken,
    @Depends(one) count: number,
    @Depends(tokens.getCurrentSubject) { name }: { name: string },
  ): unknown[] {
    // @ts-expect-error there is no such claim
    void payload.agee
    const age: number = payload.age
    return [id, age, token.location, count, name, this.#tokens.config]
  }

  @Get('wider')
  @RequireScopes('read')
  async wider(
    @Depends(tokens.accessTokenRequired) payload: { readonly sub: string },
    @Depends(one) count: unknown,
    @Depends(tokens.accessTokenOptional) optional?: AppPayload | null,
  ): Promise<unknown> {
    await Promise.resolve()
    return [payload.sub, count, optional?.age]
  }

  @Get('wrong')
  wrong(
    // @ts-expect-error the payload may be null
    @Depends(tokens.accessTokenOptional) optional: AppPayload,
    // @ts-expect-error a payload is no text
    @Depends(tokens.accessTokenRequired) payload: string,
    // @ts-expect-error this manager knows nothing of an age
    @Depends(plain.accessTokenRequired) other: AppPayload,
    // @ts-expect-error a dependency is a function
    @Depends('token') token: string,
  ): unknown[] {
    return [optional, payload, other, token]
  }

  @Get('cookies')
  cookies(
    @Res({ passthrough: true }) response: Response,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): void {
    sendCookies(response, ['a=b'])
    sendCookies(reply, ['a=b'])
    // @ts-expect-error cookies are a list
    sendCookies(reply, 'a=b')
  }
}

// A module takes a manager of any type, its parts, or a function of what Nest injects.
TokenModule.forRoot({ tokens })
TokenModule.forRoot({ config, name: 'admin', global: false })
TokenModule.forRoot({ config, claims })
TokenModule.forRootAsync({ inject: ['SECRET'], useFactory: (secret: string) => ({ config, secret }) })
TokenModule.forRootAsync({ useFactory: async () => Promise.resolve({ tokens }) })
TokenModule.forRootAsync({
  useClass: class {
    createTokenOptions() {
      return { config, claims }
    }
  },
})
// @ts-expect-error something to build a manager from is needed
TokenModule.forRoot({ name: 'admin' })
// @ts-expect-error a secret is no configuration
TokenModule.forRoot({ config: 'secret' })
// @ts-expect-error the factory gives nothing to build a manager from
TokenModule.forRootAsync({ useFactory: () => 'secret' })
// @ts-expect-error a guard needs dependencies
enforce(tokens)

// Guards are mostly made by Nest; one made by hand takes a manager of any type too.
void new TokenGuard(plain)
void new TokenGuard(tokens)

// The decorators of a manager know its claims and its subject; only its type is needed, as with forRootAsync.
const {
  TokenClaims,
  OptionalTokenClaims,
  CurrentSubject,
  OptionalCurrentSubject,
  Token,
  InjectTokenManager,
} = createTokenDecorators<typeof tokens>('admin')
type PlainManager = TokenManager
const ofPlain = createTokenDecorators<PlainManager>()

@Controller()
export class DecoratedController {
  readonly #tokens: typeof tokens

  constructor(
    @InjectTokenManager() given: typeof tokens,
    @ofPlain.InjectTokenManager() any: TokenManager,
    // @ts-expect-error this type would take any claims
    @InjectTokenManager() wide: TokenManager,
    // @ts-expect-error the other manager
    @ofPlain.InjectTokenManager() narrow: typeof tokens,
    // @ts-expect-error no manager
    @InjectTokenManager() text: string,
  ) {
    this.#tokens = given
    void [any, wide, narrow, text]
  }

  @Get('fits')
  fits(
    @TokenClaims() payload: AppPayload,
    @OptionalTokenClaims() optional: AppPayload | null,
    @CurrentSubject() subject: { name: string },
    @OptionalCurrentSubject() maybe: { name: string } | null,
    @Token() token: RequestToken | null,
    @TokenClaims() wider: TokenPayload<object>,
    @ofPlain.TokenClaims() plainPayload: TokenPayload,
  ): unknown[] {
    // @ts-expect-error the claims need an age
    this.#tokens.createAccessToken({ uid: 'ada' })
    this.#tokens.createAccessToken({ uid: 'ada', age: 36 })
    return [
      payload.age,
      optional?.age,
      subject.name,
      maybe?.name,
      token?.location,
      wider.sub,
      plainPayload.sub,
    ]
  }

  @Get('misfits')
  misfits(
    // @ts-expect-error there is no such claim
    @TokenClaims() payload: TokenPayload<{ agee: number }>,
    // @ts-expect-error the payload may be null
    @OptionalTokenClaims() optional: AppPayload,
    // @ts-expect-error the subject has a name, not a number
    @CurrentSubject() subject: { name: number },
    // @ts-expect-error the subject may be null
    @OptionalCurrentSubject() maybe: { name: string },
    // @ts-expect-error the token may be null
    @Token() token: RequestToken,
    // @ts-expect-error this manager knows nothing of an age
    @ofPlain.TokenClaims() plainPayload: AppPayload,
    // @ts-expect-error the decorator is made by a call
    @TokenClaims uncalled: AppPayload,
  ): unknown[] {
    return [payload, optional, subject, maybe, token, plainPayload, uncalled]
  }
}

// Without a type nothing is known of the claims.
export class UntypedController {
  // @ts-expect-error the payload has no age
  untyped(@(createTokenDecorators().TokenClaims()) payload: AppPayload): unknown {
    return payload
  }
}

// What a handshake brought has the type of the manager.
const upgrade = readUpgrade({}, tokens)
upgrade?.payload.age satisfies number | undefined
// @ts-expect-error there is no such claim
void upgrade?.payload.agee

// Without a type argument: the options are typed by the module, whatever the claims of the application are.
declare class UsersService {
  find(uid: string): Promise<UserRow | null>
}
interface UserRow {
  readonly uid: string
  readonly role: string
}
SessionModule.forRootAsync({
  inject: [UsersService],
  useFactory: (users: UsersService) => ({
    logIn: async ({ name }) => (typeof name === 'string' ? users.find(name) : null),
    describeUser: async (uid, { claims, reason }) => {
      const user = await users.find(uid.toLowerCase())
      const tenant: unknown = claims['tenant']
      if (user === null || reason === 'login') return null
      return { claims: { role: user.role, tenant }, scopes: user.role === 'admin' ? ['admin'] : [] }
    },
  }),
})
SessionModule.forRootAsync({
  inject: [UsersService],
  useFactory: async (users: UsersService) => ({
    logIn: () => null,
    describeUser: (uid) => users.find(uid).then((user) => (user === null ? null : { claims: user })),
  }),
})
SessionModule.forRoot({ logIn: () => null, describeUser: (uid) => ({ scopes: [uid.trim()] }) })
SessionModule.forRootAsync({
  useFactory: () => ({
    logIn: () => null,
    // @ts-expect-error a forgotten return must not keep rights
    describeUser: (uid) => void uid,
  }),
})
