import { Test } from '@nestjs/testing'
import { isTokenError, TokenConfig, TokenError, TokenManager } from 'tokenlib'
import { TokenModule } from 'tokenlib/nest'
import { AppController } from './app.controller'

const config = new TokenConfig({ JWT_SECRET_KEY: 'a-fake-secret-for-tests-of-enough-bytes' })

describe('AppController', () => {
  it('gets another manager with overrideProvider', async () => {
    const open = jest.fn().mockResolvedValue({ accessToken: 'a', refreshToken: 'r' })
    const other = { sessions: { open } }
    const module = await Test.createTestingModule({
      imports: [TokenModule.forRoot({ config })],
      controllers: [AppController],
    })
      .overrideProvider(TokenManager)
      .useValue(other)
      .compile()

    const answer = await module.get(AppController).login({ uid: 'ada' })
    expect(answer).toEqual({ accessToken: 'a', refreshToken: 'r' })
    expect(other.sessions.open).toHaveBeenCalledWith({ uid: 'ada' })
  })

  it('throws errors that jest and the application tell apart', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: config.JWT_SECRET_KEY }) })
    const error: unknown = await tokens.verify('a.b.c').catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(TokenError)
    expect(error).toBeInstanceOf(Error)
    expect(isTokenError(error) && error.code).toBe('TOKEN_INVALID')
  })
})
