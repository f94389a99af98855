import { TestRunner } from 'vitest'
import type { Target } from './target.js'

/** Leaves an attack out for a library that cannot be brought into the situation at all. */
export function skipAttack(target: Target, what: string): void {
  TestRunner.getCurrentTest()?.context.skip(`${target.name} has no ${what}`)
}
