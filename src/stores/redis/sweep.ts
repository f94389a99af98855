import { createNonce, systemRandom } from '../../claims/ids.js'
import type { Reply } from './client.js'
import { SWEEP } from './revocation-scripts.js'
import type { Script } from './script.js'

/** Runs a script, given the names of its keys and its own arguments. */
export type Run = (
  script: Script,
  names: readonly string[],
  args: readonly string[],
) => Promise<readonly Reply[]>

/**
 * Revokes the sessions that started later than the watermark of all reaches, and returns the position after them.
 *
 * `late` is what the script that began it answered: the watermark, and what tells sessions from before and after it.
 */
export type Sweep = (run: Run, epoch: string, late: string) => Promise<readonly Reply[]>

// No key has the name 'absent'. While a cluster moves the slot, a script that declares a missing key runs on neither
// node: each of them would walk through a part of the sessions only.
const NAMES = ['log', 'past', 'marks', 'absent']

/** Walks through the sessions, at most once at a time for each marker: a repeat waits for the walk under way. */
export function createSweep(): Sweep {
  const underWay = new Map<string, Promise<readonly Reply[]>>()

  return (run, epoch, late) => {
    const [moment = '', ...rest] = late.split(':')
    const marker = rest.join(':')
    const key = `${epoch}|${marker}`
    const walk = underWay.get(key) ?? walkAll(run, moment, marker).finally(() => underWay.delete(key))
    underWay.set(key, walk)
    return walk
  }
}

async function walkAll(run: Run, moment: string, marker: string): Promise<readonly Reply[]> {
  let cursor = '0'
  let server = ''
  for (;;) {
    const args = [createNonce(systemRandom), moment, marker, cursor, server]
    const reply = await run(SWEEP, NAMES, args)
    cursor = String(reply[4])
    server = String(reply[5])
    if (cursor === '0') return reply
  }
}
