import type { ContractRunner } from '@tokenlib/contracts'
import { afterAll, beforeAll, describe, test } from 'vitest'

/** Runs the whole contract of stores. */
export const WHOLE_CONTRACT: ContractRunner = { afterAll, beforeAll, describe, test }

const DIFFERS =
  /: (claims|lookups|feed|spent ids|sessions|a limit of sessions|data of sessions|replication|lost data)$/

/**
 * Runs the parts of the contract that send most statements of a store, read every shape of answer, and wait for messages.
 *
 * For a store whose whole contract runs through another client: clients differ in nothing else.
 */
export const CLIENT_CONTRACT: ContractRunner = {
  ...WHOLE_CONTRACT,
  describe: (title, run) => (DIFFERS.test(title) ? describe(title, run) : undefined),
}
