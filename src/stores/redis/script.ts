import { createHash } from 'node:crypto'
import type { Reply, Send } from './client.js'

/** A Lua script and the name that a server knows it by. */
export interface Script {
  readonly source: string
  readonly digest: string
}

/** The script of some Lua source. */
export function createScript(...parts: readonly string[]): Script {
  const source = parts.join('')
  return { source, digest: createHash('sha1').update(source).digest('hex') }
}

/** Runs a script in one atomic step, on the primary that holds its keys. */
export async function runScript(
  send: Send,
  { source, digest }: Script,
  keys: readonly string[],
  args: readonly string[],
): Promise<Reply> {
  const [key = ''] = keys
  const rest = [String(keys.length), ...keys, ...args]
  try {
    return await send(key, ['EVALSHA', digest, ...rest])
  } catch (error) {
    // A server forgets scripts when it restarts, fails over or is told to.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return send(key, ['EVAL', source, ...rest])
  }
}
