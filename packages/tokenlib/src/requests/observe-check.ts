import {
  type CheckKind,
  type Observers,
  reportCheck,
  type TokenCheck,
  type TokenObserver,
  toRefusal,
} from '../observer.js'

/** A check that is to be reported. */
export interface ObservedCheck<Value> {
  readonly kind: CheckKind
  readonly run: () => Promise<Value>
  /** The user of a token that was accepted. */
  readonly readSubject: (value: NonNullable<Value>) => string | null
  /** For a dependency: its report is made once for each request. */
  readonly report?: (check: TokenCheck) => void
}

/** Runs a check, and reports it if there are observers. */
export function observeCheck<Value>(observers: Observers, check: ObservedCheck<Value>): Promise<Value> {
  const { current, monotonicNow } = observers
  return current === null ? check.run() : runObserved(current, monotonicNow, check)
}

async function runObserved<Value>(
  observers: readonly TokenObserver[],
  monotonicNow: Observers['monotonicNow'],
  { kind, run, readSubject, report }: ObservedCheck<Value>,
): Promise<Value> {
  const startedAt = monotonicNow()
  const end = (result: Pick<TokenCheck, 'outcome' | 'code' | 'sub'>): void => {
    const check = { kind, lane: 'recipe', durationMs: monotonicNow() - startedAt, ...result } as const
    if (report === undefined) reportCheck(observers, check)
    else report(check)
  }
  let value: Value
  try {
    value = await run()
  } catch (error) {
    end({ ...toRefusal(error), sub: null })
    throw error
  }
  // Only an optional dependency, and a logout without a genuine token, return `null`.
  if (value === null) end({ outcome: 'anonymous', code: null, sub: null })
  else end({ outcome: 'accepted', code: null, sub: readSubject(value as NonNullable<Value>) })
  return value
}
