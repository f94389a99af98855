import fc from 'fast-check'
import {
  FOREVER,
  type RotationRules,
  type SessionClient,
  type WhenFull,
} from '../../../packages/tokenlib/src/kit.js'

/** What happens to the sessions of a few users, as plain data. Numbers choose among what there is by then. */
export interface History {
  /** The rules of two managers that share the store. */
  readonly rules: readonly [RotationRules, RotationRules]
  readonly steps: readonly Step[]
}

/** One step, by one of the managers. */
export type Step = { readonly manager: 0 | 1 } & (
  | { readonly do: 'open'; readonly user: number; readonly lastsMs: number }
  | {
      readonly do: 'openLimited'
      readonly user: number
      readonly lastsMs: number
      readonly max: 1 | 2
      readonly whenFull: WhenFull
    }
  | { readonly do: 'rotate'; readonly token: number; readonly client: SessionClient }
  | { readonly do: 'present'; readonly token: number }
  /** A child of the token exists, and the store has lost the write that gave it out. */
  | { readonly do: 'lose'; readonly token: number }
  | { readonly do: 'revoke'; readonly kind: 'session' | 'user' | 'all'; readonly session: number }
  | { readonly do: 'list'; readonly user: number }
  /** Somebody else may have changed the data since it was read. */
  | {
      readonly do: 'writeData'
      readonly token: number
      readonly data: string | null
      readonly isStale: boolean
    }
  | { readonly do: 'prune' }
  /** By a time of the manager's rules, or by a fixed one. */
  | {
      readonly do: 'wait' | 'setBack'
      readonly by: 'grace' | 'coarse' | 'idle' | number
      readonly plusMs: number
    }
)

const MINUTE = 60_000

// Failures are printed, and read better so.
const PLAIN = { noNullPrototype: true }

const rules: fc.Arbitrary<RotationRules> = fc.record(
  {
    graceMs: fc.constantFrom(10_000, MINUTE, 0),
    idleMs: fc.constantFrom(FOREVER, FOREVER, 10 * MINUTE, 2 * MINUTE, 40_000),
  },
  PLAIN,
)

const client = fc.constantFrom<SessionClient>(
  { ip: null, userAgent: null },
  { ip: '192.0.2.1', userAgent: 'Browser "Ä" \\ 漢字 🦊' },
  { ip: '2001:db8::2', userAgent: null },
  { ip: null, userAgent: '' },
)

const user = fc.nat(1)
const lastsMs = fc.constantFrom(60 * MINUTE, 5 * MINUTE, FOREVER)
// How far from the newest: mostly that one, or one of its relatives.
const token = fc.oneof(
  { arbitrary: fc.constant(0), weight: 4 },
  { arbitrary: fc.nat(4), weight: 8 },
  { arbitrary: fc.nat(40), weight: 1 },
)
const plusMs = fc.constantFrom(0, -1, 1)

const steps = {
  open: [4, { user, lastsMs }],
  openLimited: [
    4,
    { user, lastsMs, max: fc.constantFrom(1, 2), whenFull: fc.constantFrom('endOldest', 'refuse') },
  ],
  rotate: [48, { token, client }],
  present: [8, { token }],
  lose: [4, { token }],
  revoke: [1, { kind: fc.constantFrom('session', 'user', 'all'), session: fc.nat(5) }],
  list: [1, { user }],
  writeData: [
    4,
    { token, data: fc.constantFrom('{"label":"Ä 漢字 🦊"}', '{}', null), isStale: fc.boolean() },
  ],
  prune: [1, {}],
  wait: [
    16,
    { by: fc.constantFrom('grace', 'grace', 'grace', 'coarse', 'idle', 1, 5000, 5 * MINUTE), plusMs },
  ],
  setBack: [3, { by: fc.constantFrom('grace', 1, 5000), plusMs }],
} as const satisfies Record<Step['do'], readonly [weight: number, Record<string, fc.Arbitrary<unknown>>]>

const step = fc.oneof(
  ...Object.entries(steps).map(([name, [weight, members]]) => ({
    weight,
    arbitrary: fc.record(
      { do: fc.constant(name), manager: fc.constantFrom(0, 0, 0, 1), ...members },
      PLAIN,
    ) as unknown as fc.Arbitrary<Step>,
  })),
)

/** Any history of up to 40 steps. */
export const anyHistory: fc.Arbitrary<History> = fc.record(
  { rules: fc.tuple(rules, rules), steps: fc.array(step, { maxLength: 40, size: 'max' }) },
  PLAIN,
)
