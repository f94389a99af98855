import { fork } from 'node:child_process'
import { once } from 'node:events'

const STEADY_TICKS = new URL('steady-ticks.js', import.meta.url)

/**
 * @typedef {object} Child A process of its own, which waits until it is asked.
 * @property {unknown} ready What it said when it was ready.
 * @property {(question: unknown) => Promise<unknown>} ask
 * @property {() => Promise<void>} stop
 */

/**
 * Starts a script in a process of its own, and waits until it is ready.
 *
 * @param {URL} script Calls `serveParent`.
 * @param {unknown} setUp What it is given.
 * @param {readonly string[]} [nodeOptions]
 * @returns {Promise<Child>}
 */
export async function startChild(script, setUp, nodeOptions = []) {
  const env = { ...process.env, NODE_ENV: 'production' }
  const execArgv = ['--import', STEADY_TICKS.href, ...nodeOptions]
  const child = fork(script, { env, execArgv, serialization: 'advanced' })
  const ended = once(child, 'exit')

  const ask = async (question) => {
    const answered = once(child, 'message')
    child.send(question)
    const [answer] = await Promise.race([answered, ended.then(() => [{ error: 'The process ended' }])])
    if (answer.error !== undefined) throw new Error(answer.error)
    return answer.value
  }

  const stop = async () => {
    if (child.connected) child.disconnect()
    await ended
  }

  try {
    return { ready: await ask(setUp), ask, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * The other side: sets up with the first message, then answers the rest one by one. Ends with its parent.
 *
 * @template SetUp, Question
 * @param {(setUp: SetUp) => Promise<{ ready: unknown, answer?: (question: Question) => unknown }>} begin
 */
export function serveParent(begin) {
  process.on('disconnect', () => process.exit())
  let answer = async (setUp) => {
    const begun = await begin(setUp)
    answer = begun.answer
    return begun.ready
  }
  process.on('message', (question) => {
    Promise.resolve(answer(question)).then(
      (value) => process.send({ value }),
      (error) => process.send({ error: error.stack }),
    )
  })
}

/** The CPU time that this process has used so far, with all of its threads, in microseconds. */
export function readCpu() {
  const { user, system } = process.cpuUsage()
  return user + system
}

/**
 * What this process holds after a garbage collection, in megabytes. Needs `--expose-gc`.
 *
 * @returns {{ rss: number, heap: number, buffers: number }}
 */
export function readMemory() {
  globalThis.gc()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  const [inMemory, heap, buffers] = [rss, heapUsed, arrayBuffers].map((bytes) => Math.round(bytes / 1e5) / 10)
  return { rss: inMemory, heap, buffers }
}
