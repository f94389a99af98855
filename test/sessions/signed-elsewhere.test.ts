import { sign as signNow } from 'node:crypto'
import { expect, test } from 'vitest'
import { type OwnKey, TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { keyPairFor } from '../helpers/keys.js'
import { createClock, createManager } from '../helpers/manager.js'
import { createKeyManager } from '../helpers/own-keys.js'

const { privateKey, publicKey } = keyPairFor('ES256')

/** A manager whose signer notes how long each text is. */
function create() {
  const lengths: number[] = []
  const sign = (input: Uint8Array): Uint8Array => {
    lengths.push(input.length)
    return signNow('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' })
  }
  const keys: OwnKey[] = [{ algorithm: 'ES256', kid: 'elsewhere', publicKey, sign }]
  const clock = createClock()
  const { tokens } = createKeyManager(keys, { clock, store: createMemoryStore({ clock }) })
  return { tokens, lengths }
}

test('before a login that may end another session, the signer signs as much as its longest token', async () => {
  const { tokens, lengths } = create()
  await tokens.sessions.open({ uid: 'ada' }, { maxSessions: 1, access: { scopes: ['x'.repeat(500)] } })
  const [probe, ...signed] = lengths
  expect(signed).toHaveLength(2)
  expect(probe).toBeGreaterThanOrEqual(Math.max(...signed))
})

test('a remembered session counts with what it is remembered by', async () => {
  const { tokens, lengths } = create()
  await tokens.sessions.open({ uid: 'ada' }, { maxSessions: 1 })
  const [short = 0] = lengths.splice(0)
  await tokens.sessions.open({ uid: 'ada' }, { maxSessions: 1, remember: true })
  expect(lengths[0]).toBeGreaterThan(short)
})

test('a manager without a key to sign with is healthy', async () => {
  const config = new TokenConfig({ JWT_ALGORITHM: 'ES256', JWT_PUBLIC_KEY: publicKey })
  expect(await new TokenManager({ config }).health()).toMatchObject({ status: 'up', error: null })
})

test('a login without claims fails as one with other things in their place does', async () => {
  const { tokens } = createManager()
  const failures = [7, undefined, null].map((claims) =>
    tokens.sessions.open(claims as never).catch((error: unknown) => error),
  )
  const [expected, ...others] = await Promise.all(failures)
  expect(expected).toBeInstanceOf(TypeError)
  expect(others).toEqual([expected, expected])
})
