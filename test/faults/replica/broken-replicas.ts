import type { Condition } from './check-history.js'
import type { StoreMistakes } from './scripted-store.js'

/** A change of the sources. */
export interface SourceChange {
  /** Below `packages/tokenlib/src/stores`. */
  readonly file: string
  /** Must be there exactly once. */
  readonly from: string
  readonly to: string
}

/** A replica, or the store below it, with a mistake. */
export interface BrokenReplica {
  /** The conditions that its histories break; others may be broken too. */
  readonly breaks: readonly Condition[]
  readonly changes?: readonly SourceChange[]
  readonly mistakes?: StoreMistakes
}

const FOLLOW = 'replica/follow.ts'
const FRESHNESS = 'replica/freshness.ts'
const REPLICA = 'replica.ts'
const RESTORE = 'replica/restore.ts'

/** Mistakes that have been made elsewhere, or nearly were here. The checker must see every one of them. */
export const BROKEN_REPLICAS: Readonly<Record<string, BrokenReplica>> = {
  'freshness counts from when the answer arrives': {
    breaks: ['C1', 'C8'],
    changes: [
      {
        file: FOLLOW,
        from: 'const completeAt = sentAt - page.ageMs',
        to: 'const completeAt = monotonicNow() - page.ageMs',
      },
    ],
  },
  'a coarse clock that a timer sets': {
    breaks: ['C1', 'C8'],
    changes: [
      {
        file: FRESHNESS,
        from: 'boundMs: number,\n  wallClock: Clock,\n  steadyClock: Clock = monotonicNow',
        to: 'boundMs: number,\n  wallClock: Clock,\n  steadyClock: Clock = readCoarse',
      },
      {
        file: FRESHNESS,
        from: '/** How far the two clocks may drift apart',
        to: `let coarse = monotonicNow()
setInterval(() => (coarse = monotonicNow()), 10).unref()
const readCoarse = (): number => coarse
/** How far the two clocks may drift apart`,
      },
    ],
  },
  'the table is cleared on a reset': {
    breaks: ['C2'],
    changes: [{ file: FOLLOW, from: 'options.onReset()', to: 'copy.clear(); options.onReset()' }],
  },
  'a page that is not the last one counts as complete': {
    breaks: ['C1', 'C8'],
    changes: [
      {
        file: FOLLOW,
        from: 'if (page.more) continue\n',
        to: '',
      },
    ],
  },
  'a reset is not noticed, and reading goes on where it was': {
    breaks: ['C1', 'C5'],
    changes: [{ file: FOLLOW, from: 'page.reset || isHistoryNew', to: 'isHistoryNew' }],
  },
  'positions are numbers, without a link to what came before': {
    breaks: ['C1', 'C5'],
    mistakes: { hasNoLinks: true },
  },
  'numbers are given before the commit': {
    breaks: ['C1', 'C5'],
    mistakes: { numbersEarly: true },
  },
  'two siblings of a refresh token both move the session on': {
    breaks: ['C6'],
    mistakes: { forks: true },
  },
  'nothing is restored': {
    breaks: ['C5'],
    changes: [
      {
        file: RESTORE,
        from: 'if (isWriting) return',
        to: 'if (boundMs > 0) return',
      },
    ],
  },
  'what was lost is revoked once more instead of restored': {
    breaks: ['C3'],
    changes: [
      {
        file: RESTORE,
        from: "(store.restore as NonNullable<RevocationStore['restore']>).call(store, batch)",
        to: 'store.revoke(batch).then(() => undefined)',
      },
    ],
  },
  'a watermark is compared with whole seconds, as in `iat`': {
    breaks: ['C3'],
    changes: [
      {
        file: REPLICA,
        from: 'copy.isRevokedNow(keys, start)',
        to: 'copy.isRevokedNow(keys, Math.floor(start / 1000) * 1000)',
      },
    ],
  },
  'a watermark is compared with when the token was issued, not with the start of its session': {
    breaks: ['C1'],
    changes: [
      {
        file: REPLICA,
        from: 'copy.isRevokedNow(keys, start)',
        to: 'copy.isRevokedNow(keys, systemClock() + 60_000)',
      },
    ],
  },
  'it accepts while it is stale': {
    breaks: ['C1', 'C8'],
    changes: [{ file: REPLICA, from: 'if (!freshness.isFresh()) throw', to: 'if (boundMs < 0) throw' }],
  },
  'it is fresh before its first read': {
    breaks: ['C1', 'C8'],
    changes: [
      {
        file: FRESHNESS,
        from: 'return now - confirmedAt <= boundMs &&',
        to: 'return lead === 0 || now - confirmedAt <= boundMs &&',
      },
    ],
  },
  'a failed read counts as one': {
    breaks: ['C1', 'C8'],
    changes: [
      { file: FOLLOW, from: 'failures++\n', to: 'failures++\n        freshness.confirm(monotonicNow())\n' },
    ],
  },
  'the age that a relay reports is ignored': {
    breaks: ['C1', 'C8'],
    changes: [
      { file: FOLLOW, from: 'const completeAt = sentAt - page.ageMs', to: 'const completeAt = sentAt' },
    ],
  },
  'own revocations come only by the feed': {
    breaks: ['C4'],
    changes: [
      { file: REPLICA, from: '      mergeOwn(final)\n', to: '' },
      { file: REPLICA, from: 'if (watermarks.length > 0) await catchUp()\n', to: '' },
    ],
  },
  'a question to the store ignores what the replica knows': {
    breaks: ['C2', 'C4'],
    changes: [
      {
        file: REPLICA,
        from: 'return askStore(keys, { atLeast })',
        to: 'return store.lookup(keys, { atLeast })',
      },
    ],
  },
  'what the store was asked for is forgotten': {
    breaks: ['C2'],
    changes: [
      {
        file: REPLICA,
        from: 'keep({ kind, id, notBefore })',
        to: 'return answers',
      },
    ],
  },
  'entries are dropped by a clock that is ahead': {
    breaks: ['C1', 'C2'],
    changes: [
      {
        file: REPLICA,
        from: 'cautiousClock() - MARGIN_MS',
        to: 'cautiousClock() + 7_200_000',
      },
    ],
  },
  'it reads less often than the bound': {
    breaks: ['C7'],
    changes: [{ file: FOLLOW, from: '(boundMs / 4)', to: '(boundMs * 30)' }],
  },
}
