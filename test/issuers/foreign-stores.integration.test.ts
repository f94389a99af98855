import { expect, onTestFinished, test } from 'vitest'
import type { RevocationStore, TokenManager } from '../../packages/tokenlib/src/index.js'
import { replicate } from '../../packages/tokenlib/src/stores/replica.js'
import { createForeign, createReceiver } from '../helpers/foreign.js'
import { createClock, NOW } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { createPlace, describeStores, STORES, type StoreKind } from '../security/harness/stores.js'

const A = createForeign('https://a.example')
const B = createForeign('https://b.example', { algorithm: 'EdDSA' })
const issuers = [A.options({ maxTokenAge: '1h' }), B.options()]
const IDS = { sub: 'ada', sid: 'session', jti: 'token' } as const

const WAYS: readonly (readonly [name: string, revoke: (tokens: TokenManager) => Promise<unknown>])[] = [
  ['a token', (tokens) => tokens.revoke.token({ ...IDS, exp: NOW + 600, iss: A.issuer })],
  ['a session', (tokens) => tokens.revoke.session(IDS.sid, { issuer: A.issuer })],
  ['a user', (tokens) => tokens.revoke.user(IDS.sub, { issuer: A.issuer })],
  ['a key', (tokens) => tokens.revoke.key('key-1', { issuer: A.issuer })],
  ['an issuer', (tokens) => tokens.revoke.all({ issuer: A.issuer })],
]

const PLACES: readonly (readonly [string, (store: RevocationStore) => RevocationStore])[] = [
  ['directly', (store) => store],
  [
    'with a replica',
    (store) => {
      const replica = replicate(store)
      // A replica listens on a connection of its own.
      onTestFinished(() => replica.close?.())
      return replica
    },
  ],
]

async function open(kind: StoreKind, place: string, wrap: (store: RevocationStore) => RevocationStore) {
  const clock = createClock()
  const { tokens } = createReceiver(issuers, { clock, store: wrap(await kind.open(place, clock)) })
  await tokens.ready()
  return tokens
}

describeStores(STORES, (kind) => {
  test.each(PLACES)('what one process revokes of an issuer, another one refuses: %s', async (_, wrap) => {
    for (const [name, revoke] of WAYS) {
      const place = createPlace()
      const one = await open(kind, place, wrap)
      const other = await open(kind, place, wrap)
      const own = await one.sessions.open({ uid: 'ada' })
      const a = A.sign(IDS)
      const b = B.sign(IDS)
      expect(await outcomeOf(other.verify(a)), name).toBe('ok')
      const { position } = (await revoke(one)) as { position: string }
      expect(await outcomeOf(one.verify(a)), name).toBe('TOKEN_REVOKED')
      expect(await outcomeOf(other.verify(a, { atLeast: position })), name).toBe('TOKEN_REVOKED')
      expect(await outcomeOf(other.verify(b, { atLeast: position })), name).toBe('ok')
      expect(await outcomeOf(other.verify(own.accessToken)), name).toBe('ok')
      expect(await outcomeOf(other.sessions.refresh(own.refreshToken)), name).toBe('ok')
    }
  })
})
