import { expect } from 'vitest'
import type { TokenManager, TokenPair, RevocationStore } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { createClock } from '../helpers/manager.js'
import { createRandom, raceLogout, withDelays } from '../helpers/race-logout.js'
import { createRevocable, outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createPlace, describeStores, openManager, type StoreKind, STORES } from './harness/stores.js'

/** Stops at one of the calls of a refresh, before or after the store has taken it, until it is let go on. */
function withStop(store: RevocationStore, stopAt: number) {
  const arrival = createGate()
  const release = createGate()
  const sessions = store.sessions!
  let calls = 0
  const pass = async <Value>(run: () => Value | Promise<Value>): Promise<Value> => {
    const before = calls++ === stopAt
    if (before) arrival.open()
    if (before) await release.opened
    const answer = await run()
    const after = calls++ === stopAt
    if (after) arrival.open()
    if (after) await release.opened
    return answer
  }
  const stopped: RevocationStore = {
    ...store,
    lookup: (keys) => pass(() => store.lookup(keys)),
    sessions: { ...sessions, rotate: (...given) => pass(() => sessions.rotate(...given)) },
  }
  return { store: stopped, arrived: arrival.opened, goOn: release.open, calls: () => calls }
}

function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

const ENDS: Readonly<Record<string, (tokens: TokenManager, pair: TokenPair) => Promise<unknown>>> = {
  logout: async (tokens, { accessToken }) => tokens.logout(await tokens.verify(accessToken)),
  revokeUser: (tokens) => tokens.revoke.user('ada'),
  revokeAll: (tokens) => tokens.revoke.all(),
  revokeKey: (tokens) => tokens.revoke.key(tokens.keys.current ?? ''),
}

/** A refresh that is stopped somewhere while another process ends the session; what is accepted afterwards. */
async function interleave(kind: StoreKind, end: keyof typeof ENDS, stopAt: number) {
  const place = createPlace()
  const clock = createClock()
  const tokens = await openManager(kind, place, clock)
  const stop = withStop(await kind.open(place, clock), stopAt)
  const other = await openManager({ ...kind, open: async () => stop.store }, place, clock)
  const pair = await tokens.sessions.open({ uid: 'ada' })
  const refreshing = other.sessions.refresh(pair.refreshToken).then(
    (fresh) => fresh,
    () => null,
  )
  await Promise.race([stop.arrived, refreshing])
  await ENDS[end]?.(tokens, pair)
  stop.goOn()
  const fresh = await refreshing
  const outcomes = await Promise.all(
    [pair, fresh].flatMap((one) =>
      one === null
        ? []
        : [
            outcomeOf(tokens.verify(one.accessToken)),
            outcomeOf(tokens.sessions.refresh(one.refreshToken ?? pair.refreshToken)),
          ],
    ),
  )
  return { outcomes, wasMade: fresh !== null, calls: stop.calls() }
}

describeAttacks('a refresh that races the end of its session (keycloak #51312, CVE-2026-50631)', () => {
  describeStores(STORES, (kind) => {
    ownAttack('stopped at each of its calls, before and after, while somebody ends the session', async () => {
      // The check, the rotation and the check after it: six places.
      const undisturbed = await interleave(kind, 'logout', 6)
      expect([undisturbed.wasMade, undisturbed.calls]).toEqual([true, 6])
      let made = 0
      for (const end of Object.keys(ENDS)) {
        for (let stopAt = 0; stopAt < 6; stopAt++) {
          const { outcomes, wasMade } = await interleave(kind, end, stopAt)
          expect(new Set(outcomes), `${end} at ${stopAt}`).toEqual(new Set(['TOKEN_REVOKED']))
          if (wasMade) made++
        }
      }
      // Some pairs were made all the same, and were worth nothing.
      expect(made).toBeGreaterThan(0)
    })
  })

  // On servers it depends on the machine who comes first; in memory a seed decides.
  ownAttack('random schedules of several refreshes and a logout', async () => {
    const survivors: string[] = []
    let refreshed = 0
    for (let seed = 1; seed <= 100; seed++) {
      const random = createRandom(seed)
      const clock = createClock()
      const store = withDelays(createMemoryStore({ clock }), random)
      const { tokens } = createRevocable({}, { store, clock })
      const outcome = await raceLogout([tokens], random)
      survivors.push(...outcome.survivors)
      refreshed += outcome.refreshed
    }
    expect(survivors).toEqual([])
    // Otherwise there would have been no race.
    expect(refreshed).toBeGreaterThan(10)
  })
})
