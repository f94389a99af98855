import { assertArguments, type Command, parseNumber, STORE_OPTIONS, writeJson } from './command.js'
import { parseTimeout, withManager } from './connect.js'
import { inTime } from './driver.js'
import { EXIT } from './exit.js'
import { safe } from './safe-text.js'
import { toCount } from './words.js'

/** Drops what has ended. */
export const prune: Command = {
  name: 'prune',
  summary: 'drop revocations and sessions that have ended',
  usage: 'prune [--batch 1000] [options]',
  options: {
    batch: {
      type: 'string',
      value: 'number',
      default: '1000',
      description: 'how many revocations and sessions are dropped in one step, 1 to 100000',
    },
    ...STORE_OPTIONS,
  },
  details: safe`
The stores do this by themselves, after writes: nothing has to be scheduled. It is for a database that nobody has written
to for long, or before a backup. Only what can verify no more is dropped. Every step is a transaction of its own, so it
may be interrupted at any time; progress is on stderr. No key is needed.`,
  async run(call) {
    assertArguments(call, [])
    const batch = parseNumber(call, 'batch', 1, 100_000)
    const { values, terminal } = call
    return withManager(call, async ({ opened }) => {
      // A step may have to look at many rows, and nobody waits for it.
      const stepTimeoutMs = Math.max(parseTimeout(call), STEP_TIMEOUT_MS)
      let dropped = 0
      for (;;) {
        const gone = await inTime(opened.url, stepTimeoutMs, opened.store.prune(batch))
        dropped += gone
        if (gone < batch) break
        terminal.warn(safe`${toCount(dropped, 'row')} dropped\n`)
      }
      if (values['json'] === true) writeJson(terminal, { store: opened.url, dropped })
      else terminal.write(safe`Dropped ${toCount(dropped, 'row')}: revocations and sessions that had ended\n`)
      return EXIT.ok
    })
  },
}

const STEP_TIMEOUT_MS = 60_000
