import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { SessionClient, TokenEventName } from '../../packages/tokenlib/src/kit.js'
import { createGuardedFolder } from '../helpers/servers/guarded-folder.js'
import { type RunningServer, startServerProcess } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'
import { openRelay, type Relay } from './relay.js'

/** Where the application keeps its sessions; `memory` follows another rule of rotation. */
export type StoreName = 'redis' | 'sqlite' | 'memory'

/** What the process of the application reads when it starts. */
export interface ApplicationSettings {
  readonly key: string
  /** Still accepted; `null` for none. */
  readonly previousKey: string | null
  readonly accessSeconds: number
  readonly graceSeconds: number
  /** The address of Redis; `null` for another store. */
  readonly redis: string | null
  /** The rule of rotation in memory; `null` for another store. */
  readonly rule: string | null
  /** The process kills itself at this refresh, after the step of the store; `null` for never. */
  readonly diesAtRefresh: number | null
  /** The folder of the built package. */
  readonly package: string
}

/** One answered request, or one event of the manager. */
export type LogLine =
  | {
      readonly at: number
      readonly method: string
      readonly path: string
      readonly status: number
      readonly origin: string | null
    }
  | (SessionClient & {
      readonly at: number
      readonly event: TokenEventName
      readonly sub: string
      readonly outcome?: 'advanced' | 'repeated' | 'kept'
      readonly previous?: SessionClient | null
    })
  | { readonly at: number; readonly event: TokenEventName }

/** The application in a process of its own, and its store. */
export interface Site {
  /** Where the browser finds it: the address of the relay. */
  readonly origin: string
  readonly relay: Relay
  readonly store: StoreName
  readonly settings: ApplicationSettings
  readonly application: RunningServer
  /** `null` for another store. */
  readonly redis: RunningServer | null
  /** Everything that the application has logged, over all its restarts. */
  readLog(): readonly LogLine[]
  /** Takes effect with the next start. */
  change(settings: Partial<ApplicationSettings>): void
  /** Lets time pass for the application, and for a store in its process. */
  advanceClock(milliseconds: number): Promise<void>
  close(): Promise<void>
}

/** The parts of a site that all scenarios share: the bundled application and client. */
export interface SiteParts {
  readonly application: string
  readonly package: string
  remove(): void
}

// Also from the bundle that tools/browsers runs, two folders below it.
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Bundles the client for the pages, and the application. */
export async function buildParts(): Promise<SiteParts> {
  // Inside of the repository, so that packages are found.
  mkdirSync(join(ROOT, 'build'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, 'build', 'browser-evidence-'))
  const built = join(folder, 'package')
  const application = join(folder, 'application.mjs')
  await build({
    entryPoints: [join(ROOT, 'packages/client/src/index.ts')],
    outdir: built,
    bundle: true,
    splitting: true,
    platform: 'browser',
    format: 'esm',
    logLevel: 'error',
  })
  await build({
    entryPoints: [join(ROOT, 'test/browser-evidence/application.ts')],
    outfile: application,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return { application, package: built, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** How long tokens live, and for `memory` the rule they rotate by. */
export type SiteRules = Pick<ApplicationSettings, 'accessSeconds' | 'graceSeconds' | 'rule'>

/** Starts a store and the application on it. */
export async function openSite(
  parts: SiteParts,
  store: StoreName,
  { accessSeconds, graceSeconds, rule }: SiteRules,
): Promise<Site> {
  const redis = store === 'redis' ? await startRedis() : null
  const folder = createGuardedFolder('tokenlib-site-', 'KILL')
  let settings: ApplicationSettings = {
    key: createKey(),
    previousKey: null,
    accessSeconds,
    graceSeconds,
    redis: redis?.url ?? null,
    rule,
    diesAtRefresh: null,
    package: parts.package,
  }
  const change = (changed: Partial<ApplicationSettings>): void => {
    settings = { ...settings, ...changed }
    writeFileSync(join(folder.path, 'settings.json'), JSON.stringify(settings), { mode: 0o600 })
  }
  change({})
  const application = await startServerProcess({
    command: process.execPath,
    args: (port) => [parts.application, String(port)],
    url: (port) => `http://127.0.0.1:${port}`,
    folder,
    endSignal: 'SIGKILL',
  })
  const relay = await openRelay(application.port)
  const log = { lines: [] as LogLine[], length: 0 }
  return {
    origin: relay.origin,
    relay,
    store,
    application,
    redis,
    get settings() {
      return settings
    },
    readLog() {
      const path = join(folder.path, 'log.jsonl')
      const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
      // Some scenarios read it many times a second: only what is new is parsed.
      const end = text.lastIndexOf('\n') + 1
      const added = text.slice(log.length, end).split('\n').slice(0, -1)
      log.lines.push(...added.map((line) => JSON.parse(line) as LogLine))
      log.length = Math.max(log.length, end)
      return log.lines.slice()
    },
    change,
    async advanceClock(milliseconds) {
      const url = `${application.url}/control/clock?advanceMs=${milliseconds}`
      const { ok } = await fetch(url, { method: 'POST' })
      if (!ok) throw new Error('The clock did not change')
    },
    async close() {
      relay.close()
      await application.stop()
      await redis?.stop()
    },
  }
}

/** A secret of the right length. */
export function createKey(): string {
  return randomBytes(32).toString('base64url')
}
