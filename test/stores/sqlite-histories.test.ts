import { createSqliteStore } from 'tokenlib/stores/sqlite'
import { afterAll, describe } from 'vitest'
import { EVERY_DAY, testHistories } from './histories/test-histories.js'
import { CLIENTS, createFolder } from './sqlite-fixture.js'

for (const [name, openDatabase] of Object.entries(CLIENTS)) {
  describe(`a store on ${name}`, () => {
    const folder = createFolder(openDatabase)
    afterAll(() => folder.remove())
    testHistories(
      { open: (place, clock) => createSqliteStore(folder.open(place), { clock }), isShared: true },
      EVERY_DAY,
    )
  })
}
