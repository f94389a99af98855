import { sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { refreshImplicitly, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { keyPairFor } from '../helpers/keys.js'
import { createClock, PATIENT } from '../helpers/manager.js'
import { createRequest } from '../helpers/requests.js'
import { outcomeOf } from '../helpers/revocable.js'

test('a signer that fails is no end of the session: the request is answered with 503', async () => {
  const { privateKey, publicKey } = keyPairFor('ES256')
  let isDown = false
  const clock = createClock()
  const tokens = new TokenManager({
    config: new TokenConfig({ ...PATIENT, JWT_TOKEN_LOCATION: 'cookies', JWT_ALGORITHM: 'ES256' }),
    clock,
    store: createMemoryStore({ clock }),
    keys: [
      {
        kid: 'hsm',
        algorithm: 'ES256',
        publicKey,
        sign(input) {
          if (isDown) throw new Error('offline')
          return sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' })
        },
      },
    ],
  })
  const { accessToken, refreshToken } = await tokens.sessions.open({ uid: 'ada' })
  clock.seconds += 86_400
  const cookies = {
    [tokens.config.JWT_ACCESS_COOKIE_NAME]: accessToken,
    [tokens.config.JWT_REFRESH_COOKIE_NAME]: refreshToken,
  }
  isDown = true
  expect(await outcomeOf(refreshImplicitly(tokens, createRequest({ cookies })))).toBe('KEYS_UNAVAILABLE')
  isDown = false
  expect(await refreshImplicitly(tokens, createRequest({ cookies }))).not.toBeNull()
})
