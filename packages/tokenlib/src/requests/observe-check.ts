import { type CheckKind, type Observers, reportCheck, type TokenCheck, toRefusal } from '../observer.js'
import { attach, readAttached, type RequestView } from '../http/view.js'
import { monotonicNow } from '../time.js'
import type { CompiledPolicy } from './policy.js'

/** A check that is to be reported. */
export interface ObservedCheck<Value> {
  readonly kind: CheckKind
  readonly run: () => Promise<Value>
  /** The user of a token that was accepted. */
  readonly readSubject: (value: NonNullable<Value>) => string | null
  /** For a dependency: its report is made once for each request. */
  readonly report?: (check: TokenCheck) => void
}

/** Does a check, and reports it where somebody observes. Without observers it is the check itself. */
export function observeCheck<Value>(observers: Observers, check: ObservedCheck<Value>): Promise<Value> {
  const { current } = observers
  if (current === null) return check.run()
  return runObserved(check, check.report ?? ((result) => reportCheck(current, result)))
}

async function runObserved<Value>(
  { kind, run, readSubject }: ObservedCheck<Value>,
  report: (check: TokenCheck) => void,
): Promise<Value> {
  const startedAt = monotonicNow()
  const toCheck = (result: Pick<TokenCheck, 'outcome' | 'code' | 'sub'>): TokenCheck => ({
    kind,
    lane: 'recipe',
    durationMs: monotonicNow() - startedAt,
    ...result,
  })
  let value: Value
  try {
    value = await run()
  } catch (error) {
    report(toCheck({ ...toRefusal(error), sub: null }))
    throw error
  }
  // Only an optional dependency, and a log-out of nobody, return `null`.
  if (value === null) report(toCheck({ outcome: 'anonymous', code: null, sub: null }))
  else report(toCheck({ outcome: 'accepted', code: null, sub: readSubject(value as NonNullable<Value>) }))
  return value
}

/**
 * Reports the check of a dependency, once for each request.
 *
 * The fast lane keeps nothing for a request, so two middlewares with one dependency may both check it.
 */
export function reportOnce(
  observers: Observers,
  view: RequestView,
  policy: CompiledPolicy,
  check: TokenCheck,
): void {
  const { current } = observers
  if (current === null || readAttached(view, policy) === REPORTED) return
  attach(view, policy, REPORTED)
  reportCheck(current, check)
}

const REPORTED = Symbol('reported')
