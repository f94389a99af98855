import { createNonce, systemRandom } from '../../claims/ids.js'
import type { Reply } from './client.js'
import { SWEEP } from './revocation-scripts.js'
import type { Script } from './script.js'

// No key has the name 'absent'. While a cluster moves the slot, a script that declares a missing key runs on neither
// node: each of them would walk through a part of the sessions only.

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
export async function sweep(run: Run, late: string): Promise<readonly Reply[]> {
  const [moment = '', ...rest] = late.split(':')
  let cursor = '0'
  let server = ''
  for (;;) {
    const args = [createNonce(systemRandom), moment, rest.join(':'), cursor, server]
    const reply = await run(SWEEP, ['log', 'past', 'marks', 'absent'], args)
    cursor = String(reply[4])
    server = String(reply[5])
    if (cursor === '0') return reply
  }
}
