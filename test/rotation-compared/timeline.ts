/** A virtual clock with a queue of what happens when; epoch milliseconds. */
export interface Timeline {
  now(): number
  /** Runs something at a later moment. What is due at the same moment runs in the order in which it was added. */
  at(moment: number, run: () => void): void
  runUntil(end: number): void
}

interface Due {
  readonly moment: number
  readonly order: number
  readonly run: () => void
}

/** A timeline that begins at 0. */
export function createTimeline(): Timeline {
  // A binary heap: the entry at `n` is due before those at `2n + 1` and `2n + 2`.
  const heap: Due[] = []
  let [now, order] = [0, 0]

  return {
    now: () => now,
    at(moment, run) {
      const entry = { moment: Math.max(now, moment), order: order++, run }
      let at = heap.length
      while (at > 0) {
        const above = (at - 1) >> 1
        if (isBefore(heap[above] as Due, entry)) break
        heap[at] = heap[above] as Due
        at = above
      }
      heap[at] = entry
    },
    runUntil(end) {
      while (heap.length > 0 && (heap[0] as Due).moment <= end) {
        const { moment, run } = takeFirst(heap)
        now = moment
        run()
      }
      now = end
    },
  }
}

function takeFirst(heap: Due[]): Due {
  const first = heap[0] as Due
  const last = heap.pop() as Due
  if (heap.length === 0) return first
  let at = 0
  for (;;) {
    const [left, right] = [2 * at + 1, 2 * at + 2]
    if (left >= heap.length) break
    const below = right < heap.length && isBefore(heap[right] as Due, heap[left] as Due) ? right : left
    if (isBefore(last, heap[below] as Due)) break
    heap[at] = heap[below] as Due
    at = below
  }
  heap[at] = last
  return first
}

function isBefore(one: Due, other: Due): boolean {
  return one.moment === other.moment ? one.order < other.order : one.moment < other.moment
}
