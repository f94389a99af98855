import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { findChromium } from './find-servers.js'
import { createGuardedFolder } from './guarded-folder.js'

/** A browser that runs for a test file. */
export interface RunningChromium {
  readonly browser: Browser
  readonly pid: number
  readonly folder: string
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}

/**
 * Starts a headless Chromium of the caller's own, with an empty profile; `switches` are additional arguments.
 *
 * Every host name leads to this machine, and every certificate is accepted.
 */
export async function startChromium(switches: readonly string[] = []): Promise<RunningChromium> {
  const executablePath = findChromium()
  if (executablePath === null) throw new Error('There is no chromium or google-chrome on this machine.')
  // Large, and most test files need no browser.
  const { chromium } = await import('playwright-core')
  const folder = createGuardedFolder('tokenlib-chromium-', 'KILL')
  const profile = join(folder.path, 'profile')
  mkdirSync(join(profile, 'Default'), { recursive: true })
  writeFileSync(join(profile, 'Default', 'Preferences'), JSON.stringify(PREFERENCES))
  // Not `launch`, whose profile is in a folder that stays behind when this process is killed.
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    args: [...SWITCHES, ...switches],
    artifactsDir: folder.path,
    // Where it keeps a socket, whose path must be short: those of temporary folders on a Mac are not.
    ...(process.platform === 'linux' && { env: { ...process.env, TMPDIR: folder.path } }),
  })
  const browser = context.browser() as Browser
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  const pid = processInfo.find(({ type }) => type === 'browser')?.id ?? 0
  folder.watch(pid)
  return {
    browser,
    pid,
    folder: folder.path,
    async stop() {
      await browser.close()
      folder.watch(null)
      await folder.remove()
    },
  }
}

const SWITCHES = [
  // Root has no sandbox, and many containers have none. The pages are our own.
  '--no-sandbox',
  '--host-resolver-rules=MAP * 127.0.0.1',
  '--ignore-certificate-errors',
]

// Chrome lets cookies go to other sites' pages, where they allow it. Debian's Chromium and private windows do not.
const PREFERENCES = { profile: { cookie_controls_mode: 0 } }
