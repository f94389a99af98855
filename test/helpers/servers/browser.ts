/** The browsers that tests run in. */
export type BrowserName = 'chromium' | 'firefox'

/** A cookie as the jar of a browser has it. */
export interface BrowserCookie {
  readonly name: string
  readonly value: string
  readonly path: string
}

/** A tab. */
export interface BrowserPage {
  /** Settles when the page has loaded. */
  goto(url: string): Promise<void>
  /** The value of a script's last expression, or of the promise that it is; it must be JSON. */
  evaluate<Value>(expression: string): Promise<Value>
  /** Stops the page as a browser does with tabs that it puts to sleep, or lets it run again; false if it cannot. */
  setFrozen(isFrozen: boolean): Promise<boolean>
  close(): Promise<void>
}

/** Tabs with a cookie jar and storage of their own. */
export interface BrowserContext {
  newPage(): Promise<BrowserPage>
  cookies(): Promise<readonly BrowserCookie[]>
  close(): Promise<void>
}

/** A headless browser that runs for a test; the same for each browser, so that one test body runs in all. */
export interface RunningBrowser {
  readonly name: BrowserName
  readonly version: string
  readonly pid: number
  readonly folder: string
  newContext(): Promise<BrowserContext>
  /** Signals all processes of the browser: SIGSTOP is what a laptop does that is closed. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** Ends it and removes its folder. */
  stop(): Promise<void>
}
