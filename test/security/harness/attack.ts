import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { TokenErrorCode } from '../../../packages/tokenlib/src/index.js'
import { NOW } from './forge.js'
import { readTarget } from './targets/read-target.js'
import type { Guard, GuardOptions, Target, Verify, VerifierOptions } from './target.js'

/** An attack went through; its name in a report is how the comparison knows it from a crash. */
export class AttackSucceeded extends Error {
  override readonly name = 'AttackSucceeded'
}

/** Fails as an attack that went through does. */
export function assertWithstood(isWithstood: boolean, what: string): void {
  expect(isWithstood, `${AttackSucceeded.name}: ${what}`).toBe(true)
}

/** What an attack works with. */
export interface Lab {
  /** The library under attack. */
  readonly target: Target
  /** A verifier, first shown to take the honest token: whatever it refuses then, it refuses for the attack's sake. */
  readonly open: (options: VerifierOptions, honest: string) => Promise<TestedVerifier>
  /** Passes if the library does not take the keys, or does and refuses the token all the same. */
  readonly refusesKey: (options: VerifierOptions, forged: string) => Promise<void>
  /** A guard of requests, first shown to take the honest one. */
  readonly guard: (options: GuardOptions, honest: Request) => Promise<TestedGuard>
  /** Sets the time, in epoch seconds. */
  readonly setTime: (seconds: number) => void
}

/** A verifier that accepts honest tokens. */
export interface TestedVerifier {
  /** Throws `AttackSucceeded` if the token is taken; `code` is that of this library's refusal. */
  refuses(forged: unknown, code?: TokenErrorCode): Promise<void>
  /** The claims of a token; throws if it is refused. */
  accepts(honest: string): Promise<Record<string, unknown>>
}

/** A guard that accepts honest requests. */
export interface TestedGuard {
  refuses(forged: Request): Promise<void>
  accepts(honest: Request): Promise<Record<string, unknown>>
}

/** Attacks of the class whose number the file has; the title says where they were seen, a CVE or an RFC. */
export function describeAttacks(title: string, body: () => void): void {
  describe(title, () => {
    // Only the date: deadlines go on by the real clock.
    beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOW * 1000 }))
    afterAll(() => void vi.useRealTimers())
    body()
  })
}

/** An attack on tokens or requests, tried on every library. */
export function attack(name: string, body: (lab: Lab) => Promise<void>): void {
  test(name, async ({ skip }) => {
    vi.setSystemTime(NOW * 1000)
    const target = readTarget()
    await body(createLab(target, (what) => skip(`${target.name} has no ${what}`)))
  })
}

/** An attack on what only this library has: stores, sessions, CSRF values. */
export function ownAttack(name: string, body: () => void | Promise<void>): void {
  test(name, async ({ skip }) => {
    vi.setSystemTime(NOW * 1000)
    const target = readTarget()
    if (target.name !== 'tokenlib') skip(`${target.name} has no such part`)
    await body()
  })
}

function createLab(target: Target, skip: (what: string) => never): Lab {
  return {
    target,
    setTime: (seconds) => void vi.setSystemTime(seconds * 1000),
    async open(options, honest) {
      const verify = await target.open(options)
      if (verify === null) return skip('verifier of this kind')
      const verifier = createVerifier(target, verify)
      await verifier.accepts(honest)
      return verifier
    },
    async refusesKey(options, forged) {
      let verify: Verify | null
      try {
        verify = await target.open(options)
      } catch (error) {
        return assertRefusal(target, error)
      }
      if (verify === null) return skip('verifier of this kind')
      await createVerifier(target, verify).refuses(forged)
    },
    async guard(options, honest) {
      const guard = target.guard?.(options) ?? null
      if (guard === null) return skip('guard of requests')
      const tested = createGuard(target, guard)
      await tested.accepts(honest)
      return tested
    },
  }
}

function createVerifier(target: Target, verify: Verify): TestedVerifier {
  return {
    refuses: (forged, code) => assertRefused(target, async () => verify(forged as string), code),
    accepts: async (honest) => (await verify(honest)) as Record<string, unknown>,
  }
}

function createGuard(target: Target, guard: Guard): TestedGuard {
  return {
    refuses: (forged) => assertRefused(target, () => guard(forged)),
    accepts: async (honest) => (await guard(honest)) as Record<string, unknown>,
  }
}

async function assertRefused(
  target: Target,
  run: () => Promise<unknown>,
  code?: TokenErrorCode,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    assertRefusal(target, error)
    if (code !== undefined && target.name === 'tokenlib') expect(error).toMatchObject({ code })
    return
  }
  throw new AttackSucceeded(`${target.name} took it`)
}

function assertRefusal(target: Target, error: unknown): void {
  expect(error).toSatisfy((thrown) => target.isRefusal(thrown), `${target.name} must refuse, not crash`)
}
