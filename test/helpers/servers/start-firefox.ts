import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BidiConnection, connectBidi } from './bidi-connection.js'
import type { BrowserContext, BrowserCookie, BrowserPage, RunningBrowser } from './browser.js'
import { findFirefox } from './find-servers.js'
import { createGuardedFolder } from './guarded-folder.js'
import { descendantsOf, isRunning, sendSignal } from './process-tree.js'
import { startServerProcess } from './server-process.js'

/**
 * Starts a headless Firefox of the caller's own, with an empty profile, and drives it with WebDriver BiDi.
 *
 * Every host name leads to this machine.
 */
export async function startFirefox(): Promise<RunningBrowser> {
  const command = findFirefox()
  if (command === null) throw new Error('There is no firefox-esr or firefox on this machine.')
  const folder = createGuardedFolder('tokenlib-firefox-', 'KILL')
  const profile = join(folder.path, 'profile')
  mkdirSync(profile)
  writeFileSync(join(profile, 'user.js'), toUserJs(PREFERENCES))
  const server = await startServerProcess({
    command,
    args: (port) => ['--headless', '--no-remote', '--profile', profile, `--remote-debugging-port=${port}`],
    url: (port) => `ws://127.0.0.1:${port}/session`,
    folder,
    environment: { HOME: folder.path, TMPDIR: folder.path, MOZ_CRASHREPORTER_DISABLE: '1' },
    endSignal: 'SIGKILL',
    isReady: /WebDriver BiDi listening on/,
  })
  const connection = await connectBidi(server.url)
  const { capabilities } = (await connection.send('session.new', { capabilities: {} })) as {
    readonly capabilities: { readonly browserVersion: string }
  }
  const all = (): readonly number[] => [server.pid, ...descendantsOf(server.pid)]

  return {
    name: 'firefox',
    version: capabilities.browserVersion,
    pid: server.pid,
    folder: folder.path,
    newContext: () => createContext(connection),
    signal(signal) {
      for (const pid of all()) sendSignal(pid, signal)
    },
    async stop() {
      connection.close()
      const left = all()
      for (const pid of left) sendSignal(pid, 'SIGCONT')
      await server.kill()
      // Its children end when they see that it is gone, and write to the profile until then.
      for (const pid of left) if (isRunning(pid)) sendSignal(pid, 'SIGKILL')
      await server.stop()
    },
  }
}

async function createContext(connection: BidiConnection): Promise<BrowserContext> {
  const { userContext } = await connection.send('browser.createUserContext', {})
  return {
    async newPage() {
      const created = await connection.send('browsingContext.create', { type: 'tab', userContext })
      return createPage(connection, created['context'])
    },
    async cookies() {
      const partition = { type: 'storageKey', userContext }
      const { cookies } = (await connection.send('storage.getCookies', { partition })) as {
        readonly cookies: readonly (Omit<BrowserCookie, 'value'> & { readonly value: { value: string } })[]
      }
      return cookies.map(({ name, path, value }) => ({ name, path, value: value.value }))
    },
    close: async () => void (await connection.send('browser.removeUserContext', { userContext })),
  }
}

function createPage(connection: BidiConnection, context: unknown): BrowserPage {
  return {
    async goto(url) {
      await connection.send('browsingContext.navigate', { context, url, wait: 'complete' })
    },
    async evaluate<Value>(expression: string): Promise<Value> {
      const answer = await connection.send('script.evaluate', {
        // As JSON: the protocol has a form of its own for every kind of value.
        expression: `(async () => JSON.stringify((await (${expression})) ?? null))()`,
        target: { context },
        awaitPromise: true,
      })
      const { type, result, exceptionDetails } = answer as unknown as Evaluation
      if (type !== 'success') throw new Error(exceptionDetails?.text ?? 'The script failed')
      return JSON.parse(result?.value ?? 'null') as Value
    },
    // Firefox on a desktop freezes no tabs.
    setFrozen: async () => false,
    close: async () => void (await connection.send('browsingContext.close', { context })),
  }
}

interface Evaluation {
  readonly type: 'success' | 'exception'
  readonly result?: { readonly value: string }
  readonly exceptionDetails?: { readonly text: string }
}

// No page of the browser's own, no update, no report, and no name that leads away from this machine.
const PREFERENCES: Readonly<Record<string, string | number | boolean>> = {
  'app.normandy.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.aboutwelcome.enabled': false,
  'browser.newtabpage.enabled': false,
  'browser.region.network.url': '',
  'browser.safebrowsing.downloads.enabled': false,
  'browser.safebrowsing.malware.enabled': false,
  'browser.safebrowsing.phishing.enabled': false,
  'browser.search.update': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage': 'about:blank',
  'browser.startup.page': 0,
  'browser.tabs.unloadOnLowMemory': false,
  'datareporting.healthreport.uploadEnabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  // Its children would not be found below it.
  'dom.ipc.forkserver.enable': false,
  'extensions.systemAddon.update.enabled': false,
  'extensions.update.enabled': false,
  'media.gmp-manager.updateEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'network.dns.forceResolve': '127.0.0.1',
  'network.prefetch-next': false,
  'network.proxy.type': 0,
  'remote.active-protocols': 1,
  'services.settings.server': 'data:,none',
  'toolkit.telemetry.enabled': false,
  'toolkit.telemetry.server': 'data:,none',
  'toolkit.telemetry.unified': false,
}

function toUserJs(preferences: typeof PREFERENCES): string {
  const lines = Object.entries(preferences).map(
    ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`,
  )
  return lines.join('')
}
