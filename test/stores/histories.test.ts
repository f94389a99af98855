import { describe } from 'vitest'
import { createMemoryStore } from 'tokenlib/stores/memory'
import { EVERY_DAY, testHistories } from './histories/test-histories.js'

describe('a store in memory', () => {
  testHistories({ open: (_place, clock) => createMemoryStore({ clock }), isShared: false }, EVERY_DAY)
})
