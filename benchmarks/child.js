import { fork } from 'node:child_process'
import { once } from 'node:events'

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
  const child = fork(script, { env, execArgv: [...nodeOptions], serialization: 'advanced' })
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
