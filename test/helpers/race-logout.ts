import type { TokenManager, TokenPair, RevocationStore } from '../../packages/tokenlib/src/index.js'

/** Random numbers from 0 to below `limit` that a seed repeats (mulberry32). */
export function createRandom(seed: number): (limit: number) => number {
  let state = seed >>> 0
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

/** A store whose calls take some turns of the event loop to get there, and some to come back. */
export function withDelays(store: RevocationStore, random: (limit: number) => number): RevocationStore {
  const { sessions } = store
  if (sessions === undefined) throw new TypeError('The store keeps no sessions')
  const slowly = async <Value>(run: () => Value | Promise<Value>): Promise<Value> => {
    for (let turns = random(4); turns > 0; turns--) await new Promise(setImmediate)
    const answer = await run()
    for (let turns = random(4); turns > 0; turns--) await new Promise(setImmediate)
    return answer
  }
  return {
    ...store,
    lookup: (keys) => slowly(() => store.lookup(keys)),
    revoke: (batch) => slowly(() => store.revoke(batch)),
    sessions: {
      open: (session) => sessions.open(session),
      rotate: (sid, token, rules) => slowly(() => sessions.rotate(sid, token, rules)),
      present: (sid, token, rules) => slowly(() => sessions.present(sid, token, rules)),
      list: (user, options) => sessions.list(user, options),
      get: (sid, options) => sessions.get(sid, options),
    },
  }
}

/**
 * Lets refreshes of one session, some of them of its successors, race its logout; returns what was still accepted
 * after `logout()` resolved, and how many refreshes won.
 */
export async function raceLogout(
  processes: readonly TokenManager[],
  random: (limit: number) => number,
): Promise<{ survivors: string[]; refreshed: number }> {
  const one = (): TokenManager => processes[random(processes.length)] as TokenManager
  const first = await one().sessions.open({ uid: `user-${random(1_000_000)}` })
  const pairs: TokenPair[] = [first]
  const payload = await one().verify(first.accessToken)
  const pause = async (): Promise<void> => {
    for (let turns = random(8); turns > 0; turns--) await new Promise(setImmediate)
  }
  const refresh = async (): Promise<void> => {
    let current = first
    for (let steps = 1 + random(3); steps > 0; steps--) {
      await pause()
      const next = await one().sessions.refresh(current.refreshToken)
      current = { ...next, refreshToken: next.refreshToken ?? current.refreshToken }
      pairs.push(current)
    }
  }
  const refreshing = Array.from({ length: 1 + random(3) }, () => refresh().catch(() => undefined))
  await pause()
  await one().logout(payload)

  const survivors: string[] = []
  const check = async (when: string): Promise<void> => {
    for (const { accessToken, refreshToken } of pairs.slice()) {
      for (const tokens of processes) {
        if (await isAccepted(tokens.verify(accessToken))) survivors.push(`${when}: access`)
        if (await isAccepted(tokens.verify(refreshToken, { type: 'refresh' })))
          survivors.push(`${when}: refresh`)
        if (await isAccepted(tokens.sessions.refresh(refreshToken))) survivors.push(`${when}: refreshed`)
      }
    }
  }
  await check('at once')
  await Promise.all(refreshing)
  await check('later')
  return { survivors, refreshed: pairs.length - 1 }
}

async function isAccepted(attempt: Promise<unknown>): Promise<boolean> {
  return attempt.then(
    () => true,
    () => false,
  )
}
