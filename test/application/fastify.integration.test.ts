import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe } from 'vitest'
import { applicationContract } from '@tokenlib/contracts'
import { runner, startIn } from './start-in.js'

describe('the application on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-application-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const start = startIn('fastify', () => ({ kind: 'sqlite', path: join(folder, 'tokens.sqlite') }))
  applicationContract('fastify', start, runner, { keepsSessions: true })
})
