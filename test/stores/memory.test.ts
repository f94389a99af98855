import { afterAll, beforeAll, describe, test } from 'vitest'
import { createMemoryStore } from 'tokenlib/memory'
import { storeContract } from '@tokenlib/contracts'
import type { RevocationStore } from '../../packages/tokenlib/src/index.js'

const stores = new Map<string, RevocationStore>()

storeContract(
  'memory',
  {
    open(place, clock) {
      const store = createMemoryStore({ clock })
      stores.set(place, store)
      return store
    },
    isShared: false,
    checksSynchronously: true,
    limitsSessions: true,
    keepsData: true,
    spends: true,
    isReplicable: true,
    async count(place) {
      const store = stores.get(place)
      const page = await store?.feed(null, { waitMs: 0 })
      const sessions =
        (await store?.sessions?.list('ada', { limit: 1000, before: null, idleMs: Infinity })) ?? []
      return (page?.entries.length ?? 0) + sessions.length
    },
  },
  { afterAll, beforeAll, describe, test },
)
