import { assertSpendable } from '../../revocation/spent-ids.js'
import type { History } from './history.js'
import type { Connection, Tables } from './tables.js'

/** Uses an id up in a table of its own, in the same transaction that makes sure that the data is in place. */
export function createSpend(
  database: Connection,
  { spent }: Pick<Tables, 'spent'>,
  history: History,
): (id: string, keepMs: number) => Promise<boolean> {
  const insert = database.prepare(
    `INSERT INTO ${spent} (id, until) VALUES (?, ?)
     ON CONFLICT (id) DO UPDATE SET until = excluded.until WHERE until <= ?`,
  )

  return async (id, keepMs) => {
    assertSpendable(id, keepMs)
    const changes = await history.write(({ now }) => insert.run(id, now + keepMs, now).changes)
    return Number(changes) > 0
  }
}
