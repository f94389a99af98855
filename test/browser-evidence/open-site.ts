import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { SessionClient, TokenEventName } from '../../src/index.js'
import { run } from '../../scripts/run.js'
import { createGuardedFolder } from '../helpers/servers/guarded-folder.js'
import { type RunningServer, startServerProcess } from '../helpers/servers/server-process.js'
import { startRedis } from '../helpers/servers/start-redis.js'

/** Where the application keeps its sessions. */
export type StoreName = 'redis' | 'sqlite'

/** What the process of the application reads when it starts. */
export interface ApplicationSettings {
  readonly key: string
  /** Still accepted; `null` for none. */
  readonly previousKey: string | null
  readonly accessSeconds: number
  readonly graceSeconds: number
  /** The address of Redis; `null` for a SQLite file. */
  readonly redis: string | null
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
      readonly sid?: string | null
      readonly generation?: number
      readonly isReplay?: boolean
      readonly previous?: SessionClient | null
    })
  | { readonly at: number; readonly event: TokenEventName }

/** The application in a process of its own, and its store. */
export interface Site {
  readonly origin: string
  readonly store: StoreName
  readonly settings: ApplicationSettings
  readonly application: RunningServer
  /** `null` for SQLite. */
  readonly redis: RunningServer | null
  /** Everything that the application has logged, over all its restarts. */
  readLog(): readonly LogLine[]
  /** Takes effect with the next start. */
  change(settings: Partial<ApplicationSettings>): void
  close(): Promise<void>
}

/** The parts of a site that all scenarios share: the bundled application and the built package. */
export interface SiteParts {
  readonly application: string
  readonly package: string
  remove(): void
}

// Also from the bundle that scripts/browsers.js runs, two folders below it.
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Compiles the package as `npm run build` does, and bundles the application. */
export async function buildParts(): Promise<SiteParts> {
  // Inside of the repository, so that packages are found.
  mkdirSync(join(ROOT, 'build'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, 'build', 'browser-evidence-'))
  const built = join(folder, 'package')
  const application = join(folder, 'application.mjs')
  const compiler = join(ROOT, 'node_modules', '.bin', 'tsc')
  const options = ['-p', join(ROOT, 'tsconfig.build.json'), '--outDir', built]
  await run(compiler, options, ROOT)
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

/** Starts a store and the application on it. */
export async function openSite(
  parts: SiteParts,
  store: StoreName,
  { accessSeconds, graceSeconds }: Pick<ApplicationSettings, 'accessSeconds' | 'graceSeconds'>,
): Promise<Site> {
  const redis = store === 'redis' ? await startRedis() : null
  const folder = createGuardedFolder('tokenlib-site-', 'KILL')
  let settings: ApplicationSettings = {
    key: createKey(),
    previousKey: null,
    accessSeconds,
    graceSeconds,
    redis: redis?.url ?? null,
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
  return {
    origin: application.url,
    store,
    application,
    redis,
    get settings() {
      return settings
    },
    readLog() {
      const path = join(folder.path, 'log.jsonl')
      const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as LogLine)
    },
    change,
    async close() {
      await application.stop()
      await redis?.stop()
    },
  }
}

/** A secret of the right length. */
export function createKey(): string {
  return randomBytes(32).toString('base64url')
}
