// First, because the library keeps the globals that it finds when it is loaded.
export { startRealTurn } from './globals.js'

export { shrinkFaults } from './shrink.js'
export { type Outcome, runWorld, type WorldOptions } from './world.js'
