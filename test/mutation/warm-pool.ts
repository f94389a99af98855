import { type PoolOptions, type PoolRunnerInitializer, type PoolWorker, ThreadsPoolWorker } from 'vitest/node'

type Message = Parameters<PoolWorker['send']>[0]
type Listener = Parameters<PoolWorker['on']>[1]

// A thread that has loaded the sources, and waits for its next mutant.
let parked: ThreadsPoolWorker | null = null
let runs = 0

// A thread that has seen so many mutants may carry what they left behind.
const MOST_RUNS = 100

/**
 * Threads that are used again for the next mutant: to start one and to load the sources takes several times as long
 * as the tests. Test files are loaded again each time; sources only for a mutant that is active while they load.
 */
export const warmPool: PoolRunnerInitializer = {
  name: 'warm',
  createPoolWorker: (options) => new WarmWorker(options),
}

class WarmWorker implements PoolWorker {
  readonly name = 'warm'
  readonly #options: PoolOptions
  readonly #listeners: [event: string, listener: Listener][] = []
  readonly #thread: ThreadsPoolWorker
  /** Whether the mutant is switched on after the sources were loaded. */
  readonly #isWarm: boolean
  readonly #wasStarted: boolean
  readonly #testTimeout: number
  #isRunning = false

  constructor(options: PoolOptions) {
    this.#options = options
    // What Stryker's runner tells its set-up file.
    const told = new Map<string, unknown>(Object.entries(options.project.getProvidedContext()))
    this.#isWarm = told.get('mode') === 'mutant' && told.get('mutantActivation') === 'runtime'
    // What hangs in a mutant is noticed soon. Without a mutant nothing hangs, however busy the machine is.
    this.#testTimeout = told.get('mode') === 'mutant' ? 10_000 : 120_000
    this.#wasStarted = this.#isWarm && parked !== null
    this.#thread = (this.#wasStarted ? parked : null) ?? new ThreadsPoolWorker(options)
    if (this.#wasStarted) parked = null
  }

  async start(): Promise<void> {
    if (!this.#wasStarted) await this.#thread.start()
    this.on('message', (message: { type?: string }) => {
      if (message.type === 'testfileFinished') this.#isRunning = false
    })
  }

  send(message: Message): void {
    const { type } = message as { type?: string }
    if (type === 'start' && this.#wasStarted) return this.#answer('started')
    if (type === 'stop' && this.#canPark()) return this.#answer('stopped')
    if (type === 'run') {
      this.#isRunning = true
      // The names of the tests to run are in the configuration, which a thread is otherwise told only at its start.
      // `vi.setConfig` must not be used: after each file, Vitest would bring back the names of the thread's first run.
      Object.assign((message as { context: object }).context, {
        config: { ...this.#options.project.serializedConfig, testTimeout: this.#testTimeout },
      })
    }
    this.#thread.send(message)
  }

  on(event: string, listener: Listener): void {
    this.#listeners.push([event, listener])
    this.#thread.on(event, listener)
  }

  off(event: string, listener: Listener): void {
    this.#thread.off(event, listener)
  }

  async stop(): Promise<void> {
    runs++
    if (!this.#canPark() || runs % MOST_RUNS === 0) return this.#thread.stop()
    for (const [event, listener] of this.#listeners) this.#thread.off(event, listener)
    parked = this.#thread
  }

  deserialize(data: unknown): unknown {
    return data
  }

  // A run that was cut short, by a deadline for example, may still be going on.
  #canPark(): boolean {
    return this.#isWarm && !this.#isRunning && parked === null
  }

  #answer(type: 'started' | 'stopped'): void {
    const answer = { type, __vitest_worker_response__: true }
    const heard = this.#listeners.filter(([event]) => event === 'message')
    setImmediate(() => heard.forEach(([, listener]) => listener(answer)))
  }
}
