/** A figure of a scenario, as it is printed. */
export interface FigureRule {
  readonly label: string
  readonly unit?: 'ms' | 's' | 'bytes'
  readonly promise?: FigurePromise
}

/** What a figure must be. */
export interface FigurePromise {
  readonly text: string
  readonly isKept: (value: number) => boolean
}

/** How the outcome of a scenario is printed, in this order. */
export type FigureRules<Outcome> = { readonly [Name in keyof Required<Outcome>]: FigureRule }

/** One number, and no other. */
export function exactly(wanted: number): FigurePromise {
  return { text: format(wanted), isKept: (value) => value === wanted }
}

/** This number or less. */
export function atMost(limit: number): FigurePromise {
  return { text: `at most ${format(limit)}`, isKept: (value) => value <= limit }
}

/** This number or more. */
export function atLeast(limit: number): FigurePromise {
  return { text: `at least ${format(limit)}`, isKept: (value) => value >= limit }
}

/** One line of the table: what was measured where, what was promised, and whether that holds. */
export interface FigureLine {
  readonly where: string
  readonly label: string
  readonly result: string
  readonly promise: string
  readonly isKept: boolean | null
}

/** The lines of an outcome. */
export function toLines<Outcome extends object>(
  where: string,
  outcome: Outcome,
  rules: FigureRules<Outcome>,
): FigureLine[] {
  const names = Object.keys(rules).filter((name) => name in outcome) as (keyof Outcome)[]
  return names.map((name) => {
    const { label, unit, promise } = rules[name]
    const value = Number(outcome[name])
    const suffix = unit === undefined ? '' : ` ${unit}`
    return {
      where,
      label,
      result: format(value) + suffix,
      promise: promise === undefined ? '' : promise.text + suffix,
      isKept: promise?.isKept(value) ?? null,
    }
  })
}

/** The value below which this share of the values lies; 0 of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function format(value: number): string {
  const digits = [0.1, 10, 100].filter((limit) => Math.abs(value) < limit).length
  return value.toLocaleString('en-US', { maximumFractionDigits: digits === 3 ? 4 : digits })
}
