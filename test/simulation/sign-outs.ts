import type { Held } from './held.js'
import type { Recorder } from './history.js'
import type { IdentityProvider, SignedOut } from './identity-provider.js'
import type { Surroundings } from './people.js'

/** What the users of a provider find in their world. */
export interface ProviderSurroundings extends Surroundings {
  readonly provider: IdentityProvider
  readonly recorder: Recorder
  readonly boundMs: number
  readonly every: (meanMs: number, run: () => void) => void
  /** Called when a logout was accepted, with a token that must be refused from then on. */
  readonly onSignedOut: (sub: string | null, held: Held) => void
}

const ANSWER_TIMEOUT_MS = 10_000
const MAX_ATTEMPTS = 6
const URL = 'https://app.example/backchannel-logout'

/**
 * Users who sign in and out at a provider. Its logouts arrive late, in another order, more than once, or never: it repeats
 * some that had no answer, and some that had.
 */
export function startSignOuts(users: readonly string[], surroundings: ProviderSurroundings): void {
  const { timeline, random, findApplication, provider, recorder, boundMs, every, onSignedOut } = surroundings
  let sessions = 0

  const after = (milliseconds: number, run: () => void): void =>
    void timeline.at(timeline.now() + milliseconds, run)

  const signIn = (sub: string): Held => {
    const held = provider.issueAccessToken(sub, `session-${sessions++}`)
    const now = timeline.now()
    const { user, sid } = held.facts
    const event = { application: 'provider', life: 0, t0: now, t1: now, result: 'ok' }
    recorder.event({ ...event, op: 'open', user, limit: null, session: sid })
    return held
  }

  const deliver = (logoutToken: string): Promise<number | null> =>
    new Promise((resolve) => {
      const found = findApplication()
      if (found === null) return resolve(null)
      after(ANSWER_TIMEOUT_MS, () => resolve(null))
      const { application, send } = found
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const body = `logout_token=${logoutToken}`
      send(() => application.handle(new Request(URL, { method: 'POST', headers, body }))).then(
        ({ status }) => resolve(status),
        () => resolve(null),
      )
    })

  const deliverUntilAccepted = async (logoutToken: string, onAccepted: () => void): Promise<void> => {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      const status = await deliver(logoutToken)
      if (status === 200) return onAccepted()
      // Most providers send a logout only once.
      if (status === 400 || random.chance(0.3)) return
      await new Promise<void>((resolve) => after(random.between(500, 5000), resolve))
    }
  }

  const signOut = (held: Held, sub: string): void => {
    const { sid } = JSON.parse(
      Buffer.from(held.text.split('.')[1] ?? '', 'base64url').toString(),
    ) as Required<SignedOut>
    const whom: SignedOut = random.pick([{ sub, sid }, { sub }, { sid }])
    const logoutToken = provider.issueLogoutToken(whom)
    const repeat = (): void => void deliver(logoutToken)
    after(random.pick([0, 0, 0, random.between(0, 10_000), random.between(0, 60_000)]), () => {
      void deliverUntilAccepted(logoutToken, () => {
        onSignedOut(whom.sub ?? null, held)
        if (random.chance(0.5)) return
        for (let left = 1 + random.below(3); left > 0; left--) {
          after(random.between(0, random.pick([2 * boundMs, 20_000])), repeat)
        }
      })
      // On another connection, at the same time.
      if (random.chance(0.1)) repeat()
    })
  }

  for (const sub of users) {
    let held: Held | null = null
    every(3000, () => {
      held ??= signIn(sub)
      const token = held
      const found = findApplication()
      found?.send(() => found.application.check(token)).catch(() => undefined)
    })
    every(20_000, () => {
      if (held !== null) signOut(held, sub)
      held = null
    })
  }
}
