import { startRealTurn } from './globals.js'

/** Something that will happen. */
export interface Planned {
  readonly at: number
  isOff: boolean
}

interface Item extends Planned {
  readonly order: number
  readonly run: () => void
}

/** The time of the simulated world, in milliseconds since it began, and what will happen in it. */
export interface Timeline {
  readonly now: () => number
  /** Plans something, now at the earliest. What is planned for one moment happens in the order of planning. */
  readonly at: (moment: number, run: () => void) => Planned
  /** Makes everything happen up to a moment. */
  readonly runUntil: (moment: number) => Promise<void>
  /** How much has happened, and how much is planned. */
  readonly count: () => { readonly happened: number; readonly planned: number }
}

// Node runs everything that is ready between two of these, and the overhead of a turn is shared by all of them.
const EVENTS_PER_TURN = 256

/** A world in which nothing has happened. */
export function createTimeline(): Timeline {
  const heap: Item[] = []
  let now = 0
  let order = 0
  let happened = 0

  const isBefore = (one: Item, other: Item): boolean =>
    one.at < other.at || (one.at === other.at && one.order < other.order)

  const push = (item: Item): void => {
    let place = heap.length
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(item, heap[parent] as Item)) break
      heap[place] = heap[parent] as Item
      place = parent
    }
    heap[place] = item
  }

  const pop = (): Item => {
    const first = heap[0] as Item
    const last = heap.pop() as Item
    if (heap.length === 0) return first
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Item, heap[child] as Item)) child++
      if (!isBefore(heap[child] as Item, last)) break
      heap[place] = heap[child] as Item
      place = child
    }
    heap[place] = last
    return first
  }

  const runNext = (until: number): boolean => {
    while (heap.length > 0 && (heap[0] as Item).at <= until) {
      const item = pop()
      if (item.isOff) continue
      now = item.at
      happened++
      item.run()
      return true
    }
    return false
  }

  return {
    now: () => now,
    at(moment, run) {
      const item: Item = { at: Math.max(now, moment), order: order++, run, isOff: false }
      push(item)
      return item
    },
    runUntil: (moment) =>
      new Promise((resolve, reject) => {
        let isOver = false
        const step = (): void => {
          if (isOver) return
          try {
            if (runNext(moment)) return
          } catch (error) {
            isOver = true
            reject(error)
            return
          }
          isOver = true
          now = Math.max(now, moment)
          resolve()
        }
        const turn = (): void => {
          for (let left = EVENTS_PER_TURN; left > 0; left--) startRealTurn(step)
          startRealTurn(() => isOver || turn())
        }
        turn()
      }),
    count: () => ({ happened, planned: heap.length }),
  }
}
