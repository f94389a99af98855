import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { WorldRequest, WorldResponse } from './messages.js'
import type { Random } from './random.js'
import type { Timeline } from './timeline.js'

// Import this first: modules keep the functions that they find when they are loaded.

/** The machine's own `setImmediate`. */
export const startRealTurn: (run: () => void) => unknown = globalThis.setImmediate

let world: { readonly timeline: Timeline; readonly random: Random } | null = null

Object.assign(globalThis, {
  Request: WorldRequest,
  Response: WorldResponse,
  setImmediate(run: (...given: unknown[]) => void, ...given: unknown[]) {
    if (world === null) return startRealTurn(() => run(...given))
    return world.timeline.at(world.timeline.now(), () => run(...given))
  },
})

const fillForReal = crypto.randomFillSync
Object.assign(crypto, {
  randomFillSync: (buffer: Uint8Array) => {
    if (world === null) return fillForReal(buffer)
    buffer.set(world.random.bytes(buffer.length))
    return buffer
  },
})
syncBuiltinESMExports()

/**
 * Makes the globals that decide what happens, and in which order, part of a world: a turn of the event loop takes no time
 * in it, and chance is that of its seed. Most of what the library gets its time, timers and ids from is an option.
 */
export function enterWorld(timeline: Timeline, random: Random): void {
  world = { timeline, random }
  Math.random = random.next
}
