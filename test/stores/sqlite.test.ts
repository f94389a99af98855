import { afterAll, beforeAll, describe, test } from 'vitest'
import { createSqliteStore } from 'tokenlib/sqlite'
import { storeContract } from '@tokenlib/contracts'
import { CLIENTS, createFolder } from './sqlite-fixture.js'

for (const [name, openDatabase] of Object.entries(CLIENTS)) {
  const folder = createFolder(openDatabase)
  afterAll(() => folder.remove())

  storeContract(
    name,
    {
      open: (place, clock) => createSqliteStore(folder.open(place), { clock }),
      isShared: true,
      checksSynchronously: true,
      limitsSessions: true,
      keepsData: true,
      spends: true,
      isReplicable: true,
      async wipe(place) {
        const other = folder.open(place)
        for (const table of ['meta', 'revocations', 'sessions', 'spent'])
          other.exec(`DELETE FROM tokenlib_${table}`)
      },
      async count(place) {
        const tables = ['revocations', 'sessions', 'spent'].map((name) => `SELECT 1 FROM tokenlib_${name}`)
        return folder.open(place).prepare(tables.join(' UNION ALL ')).all().length
      },
    },
    { afterAll, beforeAll, describe, test },
  )
}
