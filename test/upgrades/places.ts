import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from 'vitest'
import { describeWithPostgres, describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { SECRET } from '../helpers/manager.js'
import type { ApplicationOptions } from './protocol.js'
import { bundlePrograms, type Programs } from './start-application.js'

/** What a test starts processes with: new data each time it is called. */
export type CreateOptions = (options?: Partial<ApplicationOptions>) => ApplicationOptions

/** Tests on each store that processes can share, with the programs of all releases. */
export function describeWithStores(
  name: string,
  body: (programs: () => Programs, createOptions: CreateOptions) => void,
): void {
  const prepare = (kind: ApplicationOptions['kind'], readUrl: () => string): void => {
    let programs: Programs
    beforeAll(async () => void (programs = await bundlePrograms()), 60_000)
    afterAll(() => programs.remove())
    const createOptions: CreateOptions = (options = {}) => ({
      kind,
      url: readUrl(),
      namespace: randomUUID(),
      config: { JWT_SECRET_KEY: SECRET },
      ...options,
    })
    body(() => programs, createOptions)
  }
  describeWithRedis(`${name}, Redis`, (url) => prepare('redis', () => url))
  describeWithPostgres(`${name}, PostgreSQL`, (url) => prepare('postgres', () => url))
  describe(`${name}, SQLite`, () => {
    let folder: string
    beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'tokenlib-upgrades-'))))
    afterAll(() => rmSync(folder, { recursive: true, force: true }))
    prepare('sqlite', () => join(folder, `${randomUUID()}.db`))
  })
}
