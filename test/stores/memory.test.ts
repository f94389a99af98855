import { afterAll, beforeAll, describe, test } from 'vitest'
import { createMemoryStore } from 'tokenlib/stores/memory'
import { storeContract } from 'tokenlib/testing'

storeContract(
  'memory',
  { open: (_place, clock) => createMemoryStore({ clock }), isShared: false },
  { afterAll, beforeAll, describe, test },
)
