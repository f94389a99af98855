import { startRealTurn } from './globals.js'

/** Something that will happen. */
export interface Planned {
  readonly isOff: boolean
}

interface Item {
  readonly at: number
  readonly order: number
  isOff: boolean
  run: () => void
}

/** The time of the simulated world, in milliseconds since it began, and what will happen in it. */
export interface Timeline {
  readonly now: () => number
  /** Plans something, now at the earliest. What is planned for one moment happens in the order of planning. */
  readonly at: (moment: number, run: () => void) => Planned
  readonly cancel: (planned: Planned) => void
  /** Makes everything happen up to a moment. */
  readonly runUntil: (moment: number) => Promise<void>
  /** How much has happened, and how much is planned. */
  readonly count: () => { readonly happened: number; readonly planned: number }
}

const nothing = (): void => {}

// Node runs everything that is ready between two of these, and the overhead of a turn is shared by all of them.
const EVENTS_PER_TURN = 256

/** A world in which nothing has happened. */
export function createTimeline(): Timeline {
  // A heap with four children to each item. The moments are apart, because they are compared far more often than an item
  // is used, and the items of a thousand processes are all over the memory.
  const heap: Item[] = []
  let moments = new Float64Array(1024)
  let now = 0
  let order = 0
  let happened = 0

  const isBefore = (one: number, other: number): boolean => {
    const [at, otherAt] = [moments[one] as number, moments[other] as number]
    return at < otherAt || (at === otherAt && (heap[one] as Item).order < (heap[other] as Item).order)
  }

  const put = (item: Item, place: number): void => {
    heap[place] = item
    moments[place] = item.at
  }

  const push = (item: Item): void => {
    if (heap.length === moments.length) {
      const larger = new Float64Array(2 * moments.length)
      larger.set(moments)
      moments = larger
    }
    let place = heap.length
    put(item, place)
    while (place > 0) {
      const parent = (place - 1) >> 2
      if (!isBefore(place, parent)) break
      put(heap[parent] as Item, place)
      put(item, parent)
      place = parent
    }
  }

  const pop = (): Item => {
    const first = heap[0] as Item
    const last = heap.pop() as Item
    if (heap.length === 0) return first
    put(last, 0)
    for (let place = 0; ;) {
      let least = place
      const end = Math.min(4 * place + 4, heap.length - 1)
      for (let child = 4 * place + 1; child <= end; child++) if (isBefore(child, least)) least = child
      if (least === place) return first
      put(heap[least] as Item, place)
      put(last, least)
      place = least
    }
  }

  const runNext = (until: number): boolean => {
    while (heap.length > 0 && (moments[0] as number) <= until) {
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
    cancel(planned) {
      const item = planned as Item
      item.isOff = true
      // It stays until its moment, and whatever it would have used must not.
      item.run = nothing
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
