import type { Random } from '../fuzz/random.js'

/** A request that a tab sends. */
export interface Visit {
  readonly at: number
  readonly tab: number
}

/** A time in which the browser's machine sleeps. */
export interface Sleep {
  readonly from: number
  readonly to: number
}

/** What a user does during a session, whatever the server answers; milliseconds since the login. */
export interface Day {
  readonly visits: readonly Visit[]
  readonly sleeps: readonly Sleep[]
  readonly end: number
}

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]

// How long a user works in all, and how long until the machine goes to sleep again.
const AWAKE_MS = 2 * HOUR
const STRETCH_MS = { min: 10 * MINUTE, max: HOUR }
const SLEEP_MS = { min: 5 * MINUTE, max: 3 * HOUR }

/** Two hours of use, with quiet minutes, moments in which all tabs ask at once, and sleeps of up to three hours. */
export function createDay(random: Random, { tabs, sleeps }: { tabs: number; sleeps: boolean }): Day {
  const day = { visits: [] as Visit[], sleeps: [] as Sleep[] }
  let [now, awake] = [0, 0]
  const between = ({ min, max }: { min: number; max: number }): number => min + random.integer(max - min)
  const ask = (isEverywhere: boolean): void => {
    const asking = isEverywhere ? Array.from({ length: tabs }, (_, tab) => tab) : [random.integer(tabs)]
    for (const tab of asking) day.visits.push({ at: now + random.integer(SECOND / 2), tab })
  }

  let stretch = between(STRETCH_MS)
  while (awake < AWAKE_MS) {
    const pause = random.integer(100) < 30 ? random.integer(5 * MINUTE) : random.integer(20 * SECOND)
    ;[now, awake, stretch] = [now + pause, awake + pause, stretch - pause]
    ask(random.integer(100) < 30)
    if (!sleeps || stretch > 0) continue
    // The lid is closed while tabs are at work, and all of them are at work when it is opened again.
    ask(true)
    const from = now + random.integer(2 * SECOND)
    now = from + between(SLEEP_MS)
    day.sleeps.push({ from, to: now })
    ask(true)
    stretch = between(STRETCH_MS)
  }
  return { ...day, end: now + MINUTE }
}
