import { beforeEach } from 'vitest'

// Tests that take too long to be run once for every mutant; faster ones cover the same lines.
const SLOW = [
  'ready() waits for a store that is late, and gives up on one that does not come',
  'is refused in every other spelling',
  'random secrets pass, as bytes and as text',
  '73 80 two different ids never become the same one',
  'of foreign ids of the same shape next to none is taken for ours',
  'revokeOtherSessions leaves the own one, however many there are',
  'questions do not pile up without bound, and it recovers by itself',
  'many questions at once are no sign of that',
  'is not seen in keys of other generators',
]

beforeEach(({ task, skip }) => {
  if (SLOW.some((title) => task.name.includes(title))) skip()
})
