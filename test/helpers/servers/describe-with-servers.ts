import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import type { DeskAnswer } from './global-setup.js'
import type { ServerKind } from './missing-server.js'
import type { BrowserName, RunningBrowser } from './browser.js'
import { startBrowser } from './start-browser.js'
import { type RunningChromium, startChromium } from './start-chromium.js'
import * as mysql from './start-mysql.js'
import { createDatabase, createDatabaseName, runSql, withDatabase } from './start-postgres.js'

/** Tests on the Redis of this run, which all files share: keys need a prefix of their own. */
export function describeWithRedis(name: string, body: (url: string) => void): void {
  describeWith(name, '/shared/redis', (url) => body(url ?? ''))
}

/** Tests on the NATS server of this run, which all files share: streams need a name of their own. */
export function describeWithNats(name: string, body: (url: string) => void): void {
  describeWith(name, '/shared/nats', (url) => body(url ?? ''))
}

/** Tests on the PostgreSQL of this run, in an empty database of their own. */
export function describeWithPostgres(name: string, body: (url: string) => void): void {
  describeWith(name, '/shared/postgres', (server) => {
    const url = server ?? ''
    const database = createDatabaseName()
    beforeAll(async () => void (await createDatabase(url, database)), HOOK_LIMIT)
    // Registered first, so it runs last, after the hooks that close connections.
    afterAll(() => dropDatabase(url, database), HOOK_LIMIT)
    body(withDatabase(url, database))
  })
}

/** Tests on the MariaDB of this run, in an empty database of their own. */
export function describeWithMysql(name: string, body: (url: string) => void): void {
  describeWith(name, '/shared/mysql', (server) => {
    const url = server ?? ''
    const database = mysql.createDatabaseName()
    beforeAll(async () => void (await mysql.createDatabase(url, database)), HOOK_LIMIT)
    afterAll(async () => void (await mysql.runSql(url, `drop database \`${database}\``)), HOOK_LIMIT)
    body(mysql.withDatabase(url, database))
  })
}

/** Tests in a Chromium of their own; a test opens contexts in it, which share nothing. */
export function describeWithChromium(
  name: string,
  body: (browser: () => Browser) => void,
  switches: readonly string[] = [],
): void {
  describeWith(name, '/own/chromium', () => {
    let chromium: RunningChromium
    beforeAll(async () => void (chromium = await startChromium(switches)), HOOK_LIMIT)
    afterAll(() => chromium.stop(), HOOK_LIMIT)
    body(() => chromium.browser)
  })
}

/** Tests that run once in each browser, Chromium and Firefox, of their own. */
export function describeWithBrowsers(name: string, body: (browser: () => RunningBrowser) => void): void {
  for (const kind of ['chromium', 'firefox'] as const) describeWithBrowser(kind, `${name}, ${kind}`, body)
}

/** Tests in a browser of their own. */
export function describeWithBrowser(
  kind: BrowserName,
  name: string,
  body: (browser: () => RunningBrowser) => void,
): void {
  describeWith(name, `/own/${kind}`, () => {
    let browser: RunningBrowser
    beforeAll(async () => void (browser = await startBrowser(kind)), HOOK_LIMIT)
    afterAll(() => browser.stop(), HOOK_LIMIT)
    body(() => browser)
  })
}

/** Tests that start, kill and configure servers of their own; a server that is given by URL is none of them. */
export function describeWithOwnServer(kind: ServerKind, name: string, body: () => void): void {
  describeWith(name, `/own/${kind}`, body)
}

const HOOK_LIMIT = 60_000

function describeWith(
  name: string,
  path: `/${'shared' | 'own'}/${ServerKind}`,
  body: (url: string | null) => void,
): void {
  describe(name, async () => {
    if (!inject('hasServers')) {
      throw new Error('Unit tests have no servers: call the file *.integration.test.ts')
    }
    const response = await fetch(inject('serverDesk') + path)
    if (!response.ok) throw new Error(await response.text())
    const answer = (await response.json()) as DeskAnswer
    if ('url' in answer) return body(answer.url)
    if (answer.fails) throw new Error(answer.reason)
    // The only skip there is, of a machine without the server; under CI the line above fails instead.
    test.skip(answer.reason)
  })
}

// A client that was closed may still be saying good-bye; cutting it off would be an error without a listener.
async function dropDatabase(url: string, database: string): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const isDropped = await runSql(url, `DROP DATABASE IF EXISTS "${database}"`).then(
      () => true,
      () => false,
    )
    if (isDropped) return
    await sleep(100)
  }
  await runSql(url, `DROP DATABASE IF EXISTS "${database}" WITH (FORCE)`)
}
