/** The longest time that an id can be spent for, in milliseconds: an hour. */
export const MAX_SPEND_MS = 3_600_000

// What every store can keep as it is.
const SPENDABLE_ID = /^[\x20-\x7e]{1,64}$/

/** Throws `TypeError` unless `id` has 1 to 64 printable ASCII characters and `keepMs` is a whole number, up to an hour. */
export function assertSpendable(id: string, keepMs: number): void {
  if (typeof id !== 'string' || !SPENDABLE_ID.test(id)) {
    throw new TypeError('spend() needs an id of 1 to 64 printable ASCII characters')
  }
  if (!Number.isSafeInteger(keepMs) || keepMs < 1 || keepMs > MAX_SPEND_MS) {
    throw new TypeError(`keepMs must be a whole number of milliseconds from 1 to ${MAX_SPEND_MS}`)
  }
}

/** The answer of `spend`. Anything but a boolean may be a failure, and must not pass for a first use. */
export function parseSpent(answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer
  throw new TypeError('spend() must return a boolean')
}
