import type { Leak } from './leak-record.js'

const MOST_TOLD = 20

/** Throws an error that says which kind of secret was shown where; never the secret itself. */
export function assertNoLeaks(leaks: readonly Leak[]): void {
  if (leaks.length === 0) return
  const more = leaks.length > MOST_TOLD ? [`and ${leaks.length - MOST_TOLD} more`] : []
  const lines = [...leaks.slice(0, MOST_TOLD).map(describeLeak), ...more]
  throw new Error(`Secrets were shown:\n${lines.join('\n')}`)
}

function describeLeak({ secret, at, origin, offset, length }: Leak): string {
  return `- ${length} characters of ${secret}, from its character ${at + 1} on, are in ${origin} at character ${offset + 1}`
}
