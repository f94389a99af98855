import type { StoreNeeds } from './store.js'

/** Tells a process what its store lost. */
export interface LossReporter {
  /** Remembers whom to tell, once each; for every `prepare`. */
  readonly listen: (needs: StoreNeeds) => void
  /** One warning, and one call of everyone who listens; to be called after what may be affected is revoked. */
  readonly report: (revokedBefore: number) => void
}

/** The reporter of one store; `store` is its name in the warning. */
export function createLossReporter(store: string, onWarning: (message: string) => void): LossReporter {
  const listeners = new Set<NonNullable<StoreNeeds['onLostData']>>()

  return {
    listen({ onLostData }) {
      if (onLostData !== undefined) listeners.add(onLostData)
    },
    report(revokedBefore) {
      tell(() =>
        onWarning(
          `The ${store} store lost data: it was emptied, or an older copy was restored. Nobody can say which ` +
            `revocations are missing, so every session that started before ${new Date(revokedBefore).toISOString()} ` +
            'is revoked, and users must log in again. Revoked keys must be revoked again',
        ),
      )
      for (const listener of listeners) tell(() => listener({ revokedBefore }))
    },
  }
}

// The store has done its part: whoever listens cannot make its answer fail.
function tell(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    process.emitWarning(`A listener of tokenlib failed: ${String(error)}`, 'TokenListenerWarning')
  }
}
