import { storeContract } from '@tokenlib/contracts'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { createMapStore } from '../../examples/extending/map-store.js'

storeContract(
  'the store of docs/extending.md',
  {
    open: (_place, clock) => createMapStore(clock),
    isShared: false,
    isReplicable: true,
    limitsSessions: true,
    spends: true,
  },
  { afterAll, beforeAll, describe, test },
)
