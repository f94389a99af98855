/**
 * A Redis that has written what it acknowledges.
 *
 * With `everysec` it acknowledges first whenever an fsync is under way, and writes up to two seconds later: not only
 * a power cut, a kill takes that away too.
 */
export const DURABLE_REDIS = { appendfsync: 'always' } as const
