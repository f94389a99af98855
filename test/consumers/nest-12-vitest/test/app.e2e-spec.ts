import type { INestApplication } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import request from 'supertest'
import type { App } from 'supertest/types'
import { TokenConfig, TokenManager } from 'tokenlib'
import { AppModule } from '../src/app.module.js'

describe('AppController (e2e)', () => {
  let app: INestApplication<App>

  afterEach(() => app.close())

  const start = async (override?: TokenManager) => {
    const builder = Test.createTestingModule({ imports: [AppModule] })
    if (override !== undefined) builder.overrideProvider(TokenManager).useValue(override)
    app = (await builder.compile()).createNestApplication()
    await app.init()
    return request(app.getHttpServer())
  }

  it('guards, logs in and logs out', async () => {
    const client = await start()
    await client
      .get('/me')
      .expect(401)
      .expect('www-authenticate', /^Bearer/)
    const { body } = await client.post('/login').send({ uid: 'ada' }).expect(200)
    const access = { authorization: `Bearer ${body.accessToken}` }
    const refresh = { authorization: `Bearer ${body.refreshToken}` }
    await client.get('/me').set(access).expect(200, { id: 'ada' })
    await client.get('/me').set(refresh).expect(401)
    await client.get('/refresh-only').set(refresh).expect(200, { id: 'ada' })
    await client.delete('/logout').set(access).expect(200)
    await client.get('/me').set(access).expect(401)
    await client.get('/refresh-only').set(refresh).expect(401)
  })

  it('checks with the manager of overrideProvider', async () => {
    const config = new TokenConfig({ JWT_SECRET_KEY: 'another-fake-secret-of-enough-bytes' })
    const tokens = new TokenManager({ config })
    const client = await start(tokens)
    const access = { authorization: `Bearer ${tokens.createAccessToken({ uid: 'bob' })}` }
    await client.get('/me').set(access).expect(200, { id: 'bob' })
    await client.get('/me').expect(401)
  })
})
