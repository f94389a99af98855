import type { StoreNeeds } from '../revocation/store.js'
import { emitWarning } from '../runtime.js'

/** Reports to a process what its store lost. */
export interface LossReporter {
  /** Adds the listeners of a `prepare`; each is called once per loss. */
  readonly listen: (needs: StoreNeeds) => void
  /** Whether a replica will restore what is lost, so that nothing else has to be revoked. */
  readonly canRestore: () => boolean
  /** Says that the history is another one than before. */
  readonly reportHistory: () => void
  /** Prints one warning and calls every listener; to be called after what may be affected is revoked. */
  readonly report: (revokedBefore: number) => void
}

/** The reporter of one store; `store` is its name in the warning. */
export function createLossReporter(store: string, onWarning: (message: string) => void): LossReporter {
  const listeners = new Set<NonNullable<StoreNeeds['onLostData']>>()
  const restorers = new Set<NonNullable<StoreNeeds['canRestore']>>()
  const followers = new Set<NonNullable<StoreNeeds['onNewHistory']>>()

  return {
    listen({ onLostData, canRestore, onNewHistory }) {
      if (onLostData !== undefined) listeners.add(onLostData)
      if (canRestore !== undefined) restorers.add(canRestore)
      if (onNewHistory !== undefined) followers.add(onNewHistory)
    },
    canRestore: () => [...restorers].some((canRestore) => canRestore()),
    reportHistory() {
      for (const follower of followers) callQuietly(follower)
    },
    report(revokedBefore) {
      const before = new Date(revokedBefore).toISOString()
      callQuietly(() =>
        onWarning(
          `The ${store} store lost data: it was emptied, or an older copy was restored. Revocations may be missing, ` +
            `so every session that started before ${before} is revoked, and users must log in again. ` +
            'Revoked keys must be revoked again',
        ),
      )
      for (const listener of listeners) callQuietly(() => listener({ revokedBefore }))
    },
  }
}

/** Calls a listener; one that throws is a warning, and does not make the store's answer fail. */
export function callQuietly(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    emitWarning(`A listener of tokenlib failed: ${String(error)}`, 'TokenListenerWarning')
  }
}
