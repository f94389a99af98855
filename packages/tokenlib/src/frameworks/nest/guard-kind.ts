/** What a guard of this package checks, as far as others have to know. */
export type GuardKind = 'dependency' | 'manager' | 'refresh' | 'token'

// In the global registry, because `instanceof` does not know the guards of another copy of this package: a gateway
// behind one of those must not be taken for a public one.
const KIND = Symbol.for('tokenlib:guard-kind')

/** Marks the guards of a class, and of those that extend it. */
export function markGuard(guard: { readonly prototype: object }, kind: GuardKind): void {
  Object.defineProperty(guard.prototype, KIND, { value: kind })
}

/** The kind of a guard, or of the guards of a class; `null` for those of others. */
export function readGuardKind(guard: unknown): GuardKind | null {
  const target: unknown = typeof guard === 'function' ? guard.prototype : guard
  return (target as { readonly [KIND]?: GuardKind } | null | undefined)?.[KIND] ?? null
}
