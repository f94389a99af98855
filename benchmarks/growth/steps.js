import { freemem } from 'node:os'

// What the store took for ten million when it was a Map of objects, and some room.
const NEEDED = 6e9

/**
 * How many tokens are revoked, from none on.
 *
 * @param {import('../run.js').Run} run
 */
export function listSteps({ quick, log }) {
  if (quick) return [0, 1_000_000]
  const available = process.availableMemory?.() ?? freemem()
  if (available >= NEEDED) return [0, 10_000, 100_000, 1_000_000, 10_000_000]
  log('There is too little memory to revoke ten million tokens: one million is the most.')
  return [0, 10_000, 100_000, 1_000_000]
}
