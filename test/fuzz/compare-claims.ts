/** What differs between the claims we return and the ones the oracle does, or `null`. */
export function findClaimDifference(
  ours: Readonly<Record<string, unknown>>,
  oracle: Readonly<Record<string, unknown>>,
  identityClaim: string,
): string | null {
  if (!isEmptyPrototype(Object.getPrototypeOf(ours))) return 'the payload inherits something'
  if (!isFrozen(ours)) return 'the payload can be changed'
  if (Object.keys(ours).includes('csrf')) return 'csrf is enumerable'
  const expected = new Map(Object.entries(oracle))
  expected.set('sub', oracle[identityClaim])
  const { scopes } = oracle
  // RFC 6749 §3.3: one text, the scopes between spaces.
  if (Object.hasOwn(oracle, 'scopes') && typeof scopes === 'string')
    expected.set('scopes', scopes.match(/[^ ]+/g) ?? [])

  const names = Object.getOwnPropertyNames(ours)
  const missing = [...expected.keys()].find((name) => !names.includes(name))
  if (missing !== undefined) return `${JSON.stringify(missing)} is missing`
  const wrong = names.find(
    (name) =>
      !expected.has(name) ||
      !isSameJson(Object.getOwnPropertyDescriptor(ours, name)?.value, expected.get(name)),
  )
  return wrong === undefined ? null : `${JSON.stringify(wrong)} is another`
}

// Nothing to inherit, and nobody can add to it.
function isEmptyPrototype(prototype: object | null): boolean {
  if (prototype === null) return true
  const isBare = Object.getPrototypeOf(prototype) === null && Object.isFrozen(prototype)
  return isBare && Reflect.ownKeys(prototype).length === 0
}

/** Whether two parsed JSON values are the same: -0 is not 0, and the order of members does not matter. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) {
    return Object.is(one, other)
  }
  const [names, others] = [Object.getOwnPropertyNames(one), Object.getOwnPropertyNames(other)]
  if (Array.isArray(one) !== Array.isArray(other) || names.length !== others.length) return false
  return names.every(
    (name) =>
      Object.hasOwn(other, name) &&
      isSameJson(
        Object.getOwnPropertyDescriptor(one, name)?.value,
        Object.getOwnPropertyDescriptor(other, name)?.value,
      ),
  )
}

function isFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  return (
    Object.isFrozen(value) &&
    Object.getOwnPropertyNames(value).every((name) =>
      isFrozen(Object.getOwnPropertyDescriptor(value, name)?.value),
    )
  )
}
