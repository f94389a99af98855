import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createClock, PATIENT } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { SECRET } from './harness/forge.js'
import { createProver, createView, PUBLIC_URL } from './harness/prover.js'
import { createPlace, describeStores, type StoreKind, STORES } from './harness/stores.js'

const COUNT = 50

/** A process of its own: a manager with a connection of its own to the data of a place. */
async function openProcess(kind: StoreKind, place: string, clock: ReturnType<typeof createClock>) {
  const tokens = new TokenManager({
    config: new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT }),
    clock,
    store: await kind.open(place, clock),
    dpop: { publicUrl: PUBLIC_URL },
  })
  await tokens.ready()
  return tokens
}

describeAttacks('a proof that is used twice, in several processes (RFC 9449 §11.1)', () => {
  describeStores(STORES, (kind) => {
    ownAttack('fifty copies of a request at once, at two processes', async () => {
      const [place, clock, client] = [createPlace(), createClock(), createProver()]
      const processes = [await openProcess(kind, place, clock), await openProcess(kind, place, clock)]
      const [first, second] = processes as [TokenManager, TokenManager]
      const proofOf = createView({ dpop: client.prove({ method: 'POST' }) }, '/', 'POST')
      const { accessToken: token, refreshToken } = await first.sessions.open({ uid: 'ada' }, { proofOf })
      for (let round = 0; round < 3; round++) {
        const dpop = client.prove({ token })
        const outcomes = await Promise.all(
          Array.from({ length: COUNT }, (_, at) => {
            const view = createView({ authorization: `DPoP ${token}`, dpop })
            return outcomeOf((at % 2 === 0 ? first : second).accessTokenRequired(view))
          }),
        )
        expect(outcomes.toSorted()).toEqual([...Array<string>(COUNT - 1).fill('PROOF_REUSED'), 'ok'])
      }
      const dpop = client.prove({ token: refreshToken })
      const refreshes = await Promise.all(
        Array.from({ length: COUNT }, (_, at) => {
          const view = createView({ authorization: `DPoP ${refreshToken}`, dpop })
          return outcomeOf((at % 2 === 0 ? first : second).sessions.refresh(view))
        }),
      )
      expect(refreshes.toSorted()).toEqual([...Array<string>(COUNT - 1).fill('PROOF_REUSED'), 'ok'])
    })

    ownAttack('a copy that comes to a process which was started later', async () => {
      const [place, clock, client] = [createPlace(), createClock(), createProver()]
      const login = client.prove({ method: 'POST' })
      const open = async () => {
        const tokens = await openProcess(kind, place, clock)
        const proofOf = createView({ dpop: login }, '/', 'POST')
        return outcomeOf(tokens.sessions.open({ uid: 'ada' }, { proofOf }))
      }
      expect(await open()).toBe('ok')
      expect(await open()).toBe('PROOF_REUSED')
    })
  })
})
