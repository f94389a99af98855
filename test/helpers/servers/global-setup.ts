import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { ensureServer, type MissingServer, readGivenUrl, type ServerKind } from './missing-server.js'
import type { RunningServer } from './server-process.js'
import { startMysql } from './start-mysql.js'
import { startNats } from './start-nats.js'
import { startPostgres } from './start-postgres.js'
import { startRedis } from './start-redis.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where a test file asks for a server of this run. */
    readonly serverDesk: string
    /** Whether the tests of this project may ask. */
    readonly hasServers: boolean
  }
}

/** What the desk says: the URL of the shared server, null for "yes, start your own", or why there is none. */
export type DeskAnswer = { readonly url: string | null } | MissingServer

/**
 * Opens the desk: the one place that starts the shared servers, each when the first test file asks for it.
 *
 * Test files run in several threads and processes, and most need no server, so none is started before it is wanted.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const running: RunningServer[] = []
  const answers = new Map<string, Promise<DeskAnswer>>()

  const desk = createServer((request, response) => {
    const path = request.url ?? ''
    const answer = answers.get(path) ?? answerTo(path, running)
    answers.set(path, answer)
    answer.then(
      (value) => response.end(JSON.stringify(value)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  }).listen(0, '127.0.0.1')
  await once(desk, 'listening')
  project.vitest.provide('serverDesk', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`)

  return async () => {
    desk.close()
    desk.closeAllConnections()
    await Promise.allSettled(answers.values())
    await Promise.all(running.map((server) => server.stop()))
  }
}

const START = { redis: startRedis, postgres: startPostgres, mysql: startMysql, nats: startNats }
const isShareable = (kind: ServerKind): kind is keyof typeof START => kind in START
const installed = new Map<ServerKind, Promise<MissingServer | null>>()

async function answerTo(path: string, running: RunningServer[]): Promise<DeskAnswer> {
  const [, use, kind] = path.split('/') as [string, 'shared' | 'own', ServerKind]
  const given = readGivenUrl(kind)
  if (use === 'shared' && given !== null) return { url: given }

  const search = installed.get(kind) ?? ensureServer(kind, (line) => console.warn(line))
  installed.set(kind, search)
  const missing = await search
  if (missing !== null) return missing
  // Nobody shares a browser: anyone who holds it sees the pages of all. Spin is no server, and workerd needs a Worker.
  if (use === 'own' || !isShareable(kind)) return { url: null }

  const server = await START[kind]()
  running.push(server)
  return { url: server.url }
}
