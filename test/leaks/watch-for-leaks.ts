// First of all, before the library is loaded.
import { watchErrors } from './hooks/watch-errors.js'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, inject } from 'vitest'
import { assertNoLeaks } from './assert-no-leaks.js'
import { current } from './current-record.js'
import { watchEvents } from './hooks/watch-events.js'
import { watchLogs } from './hooks/watch-logs.js'
import { watchManagers } from './hooks/watch-managers.js'
import { watchObjects } from './hooks/watch-objects.js'
import { createLeakRecord } from './leak-record.js'

// Every test file runs under this watch: at its end, whatever it showed is searched for the secrets it had. This file
// runs before each of them, the hooks are for all that run in one thread.
if (current.record === null) {
  watchErrors()
  watchEvents()
  watchLogs()
  watchManagers()
  watchObjects()
}
// On a busy machine, a file with tens of thousands of tokens.
const LIMIT = 120_000
const record = (current.record = createLeakRecord(current.inherited))

// Where files share a thread, their modules are loaded once. What a module made then is a secret of every later file.
beforeAll(() => void (current.inherited = record.secrets()), LIMIT)

afterEach(() => record.settle(), LIMIT)

afterAll(() => {
  const leaks = record.search()
  // Not there when a project runs by itself that has no summary.
  const folder = inject('leakCounts') as string | undefined
  if (folder !== undefined) {
    writeFileSync(join(folder, randomUUID()), JSON.stringify({ ...record.counts(), leaks: leaks.length }))
  }
  assertNoLeaks(leaks)
}, LIMIT)
