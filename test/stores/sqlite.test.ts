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
      isReplicable: true,
      async wipe(place) {
        const other = folder.open(place)
        for (const table of ['meta', 'revocations', 'sessions']) other.exec(`DELETE FROM tokenlib_${table}`)
      },
      async count(place) {
        const rows = folder
          .open(place)
          .prepare('SELECT 1 FROM tokenlib_revocations UNION ALL SELECT 1 FROM tokenlib_sessions')
        return rows.all().length
      },
    },
    { afterAll, beforeAll, describe, test },
  )
}
