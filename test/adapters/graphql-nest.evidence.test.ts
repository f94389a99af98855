import { setImmediate } from 'node:timers/promises'
import { UseGuards } from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { GraphQLModule, Int, Query, Resolver } from '@nestjs/graphql'
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius'
import { expect, test } from 'vitest'
import {
  AccessTokenGuard,
  Depends,
  enforce,
  OptionalAuth,
  RequireScopes,
  TokenClaims,
  TokenExceptionFilter,
  TokenGuard,
  TokenModule,
} from '../../packages/tokenlib/src/frameworks/nest/index.js'
import type { TokenPayload } from '../../packages/tokenlib/src/index.js'
import { countAttachments } from '../helpers/count-attachments.js'
import { createManager } from '../helpers/manager.js'
import { serve } from '../helpers/nest.js'

// In a process of its own, because one test walks the heap: that of a thread that many files share takes half a minute.

const { tokens } = createManager()
let checks = 0
const revoked = new Set<string>()
tokens.setCallbackTokenBlocklist((token) => {
  checks++
  return revoked.has(token)
})

@Resolver()
class UserResolver {
  @Query(() => String)
  @UseGuards(AccessTokenGuard)
  me(@TokenClaims() payload: TokenPayload, @Depends(tokens.accessTokenRequired) again: TokenPayload): string {
    return `${payload.sub} ${again.sub}`
  }

  @Query(() => String)
  @UseGuards(enforce(tokens.accessTokenRequired))
  hello(): string {
    return 'hi'
  }

  @Query(() => String)
  @RequireScopes('admin')
  admin(): string {
    return 'admin'
  }

  @Query(() => String)
  @OptionalAuth()
  visitor(@TokenClaims() payload: TokenPayload | null): string {
    return payload?.sub ?? 'nobody'
  }

  @Query(() => Int)
  @OptionalAuth()
  async notes(): Promise<number> {
    // After the guards of all fields.
    await setImmediate()
    return countAttachments()
  }
}

/** What a real GraphQL server over HTTP answers to a query: its data, or the code of its first error. */
async function ask(query: string, token?: string): Promise<unknown> {
  const { send } = await serve([], {
    platform: 'Fastify',
    imports: [
      TokenModule.forRoot({ tokens }),
      GraphQLModule.forRoot<MercuriusDriverConfig>({
        driver: MercuriusDriver,
        autoSchemaFile: true,
        context: (request: object) => ({ req: request }),
      }),
    ],
    providers: [UserResolver, { provide: APP_GUARD, useClass: TokenGuard }],
    setUp: (app) => void app.useGlobalFilters(new TokenExceptionFilter()),
  })
  const response = await send('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    ...(token !== undefined && { token }),
  })
  const { data, errors } = (await response.json()) as {
    data: unknown
    errors?: { extensions?: { code?: string } }[]
  }
  return errors?.[0]?.extensions?.code ?? data
}

const good = () => tokens.createAccessToken({ uid: 'ada' })

test('guards and parameters work in resolvers', async () => {
  expect(await ask('{ me }', good())).toEqual({ me: 'ada ada' })
  expect(await ask('{ hello }', good())).toEqual({ hello: 'hi' })
})

test('several resolvers of one request ask the revocation callback once', async () => {
  checks = 0
  expect(await ask('{ me hello again: me }', good())).toEqual({
    me: 'ada ada',
    hello: 'hi',
    again: 'ada ada',
  })
  expect(checks).toBe(1)
})

test('refusals carry their code in the extensions', async () => {
  expect(await ask('{ me }')).toBe('TOKEN_MISSING')
  expect(await ask('{ hello }', 'bad')).toBe('TOKEN_INVALID')
  expect(await ask('{ admin }', good())).toBe('INSUFFICIENT_SCOPE')
  const token = good()
  revoked.add(token)
  expect(await ask('{ me }', token)).toBe('TOKEN_REVOKED')
})

test('the notes on a request do not grow with its guarded fields', async () => {
  const notesWith = async (fields: number): Promise<number> => {
    const aliases = Array.from({ length: fields }, (_, at) => `a${at}: visitor`)
    const data = (await ask(`{ ${aliases.join(' ')} notes }`)) as { a0: string; notes: number }
    expect(data.a0).toBe('nobody')
    return data.notes
  }
  const few = await notesWith(10)
  expect((await notesWith(500)) - few).toBeLessThan(100)
})
