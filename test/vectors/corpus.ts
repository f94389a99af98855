import { foldCaseIds, parseCaseIds } from './case-ids.js'

/** What this library says to a case. `not offered`: no algorithm takes the key, so no signature was looked at. */
export type Answer = 'accepted' | 'refused' | 'not offered' | `failed: ${string}`

/** One published case: what its publisher says of it, and what this library does. */
export interface CaseResult {
  readonly id: string
  readonly label: 'accepted' | 'refused'
  readonly answer: Answer
  /** Why the answer is worth nothing although it is as labelled, if it is. */
  readonly doubt?: string | null
}

/** Cases that are answered otherwise than labelled, on purpose. */
export interface ExceptionEntry {
  readonly kind: 'policy' | 'corpus error'
  /** As `parseCaseIds` reads them. */
  readonly ids: string
  readonly reason: string
  /** Whether the reason really is why the case is answered otherwise. */
  readonly isProven: (id: string) => boolean
}

/** How a corpus went: `cases` is the sum of `passed`, `policy`, `errors` and the unexplained ones. */
export interface CorpusResult {
  readonly name: string
  readonly cases: number
  readonly passed: number
  readonly policy: number
  readonly errors: number
  readonly exceptions: readonly { readonly kind: string; readonly ids: string; readonly reason: string }[]
  readonly unexplained: readonly string[]
  /** Which cases ran with a setting that applications do not have by default. */
  readonly notes: readonly string[]
}

/** Holds every case against its label, and against the exceptions that are allowed. */
export function tallyCorpus(
  name: string,
  results: readonly CaseResult[],
  entries: readonly ExceptionEntry[],
  notes: readonly string[] = [],
): CorpusResult {
  const listed = toListed(entries)
  const seen = new Set<string>()
  const granted = new Map<ExceptionEntry, string[]>(entries.map((entry) => [entry, []]))
  const unexplained: string[] = []
  let passed = 0
  for (const result of results) {
    if (seen.has(result.id)) throw new Error(`${name}: two cases are called ${result.id}`)
    seen.add(result.id)
    const entry = listed.get(result.id)
    const problem = readProblem(result, entry)
    if (problem !== null) unexplained.push(`${result.id}: ${problem}`)
    else if (entry === undefined) passed++
    else granted.get(entry)?.push(result.id)
  }
  for (const id of listed.keys()) {
    if (!seen.has(id)) unexplained.push(`${id}: is listed as an exception, but is no case`)
  }
  const count = (kind: ExceptionEntry['kind']): number =>
    [...granted].reduce((sum, [entry, ids]) => sum + (entry.kind === kind ? ids.length : 0), 0)
  return {
    name,
    cases: results.length,
    passed,
    policy: count('policy'),
    errors: count('corpus error'),
    exceptions: [...granted]
      .filter(([, ids]) => ids.length > 0)
      .map(([{ kind, reason }, ids]) => ({ kind, reason, ids: foldCaseIds(ids) })),
    unexplained,
    notes,
  }
}

function toListed(entries: readonly ExceptionEntry[]): Map<string, ExceptionEntry> {
  const listed = new Map<string, ExceptionEntry>()
  for (const entry of entries) {
    for (const id of parseCaseIds(entry.ids)) {
      if (listed.has(id)) throw new Error(`${id} is listed twice`)
      listed.set(id, entry)
    }
  }
  return listed
}

function readProblem(result: CaseResult, entry: ExceptionEntry | undefined): string | null {
  const { id, label, answer, doubt } = result
  if (answer.startsWith('failed')) return answer
  if (doubt !== undefined && doubt !== null) return doubt
  if (entry === undefined) return answer === label ? null : `is labelled ${label}, and is ${answer}`
  // An exception that no longer is one hides the next mistake.
  if (answer === label) return `is listed as an exception, and is ${answer} as labelled`
  return isProven(entry, id) ? null : `the listed reason does not hold: ${entry.reason}`
}

function isProven(entry: ExceptionEntry, id: string): boolean {
  try {
    return entry.isProven(id)
  } catch {
    return false
  }
}
