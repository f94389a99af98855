import { beforeEach } from 'vitest'

// Tests that take too long to be run once for every mutant; faster ones cover the same lines.
const SLOW = [
  'ready() waits for a store that is late, and gives up on one that does not come',
  'is refused in every other spelling',
  'random secrets pass, as ',
  'two different ids never become the same one',
  'of foreign ids of the same shape next to none is taken for ours',
  'sessions.endOthers leaves the own one, however many there are',
  'questions do not pile up without bound, and it recovers by itself',
  'many questions at once are no sign of that',
  'is not seen in keys of other generators',
  'that is like thousands of others is kept all the same',
  'counted ids spread like random ones',
  'a reader from the start misses nothing that is written, moved or dropped between its pages',
  'a reader that is too far behind is told so, and then has everything from the start',
  'a position in the midst of a full read is good for as long as the changes since are remembered',
  'lets others work in between, and drops nothing of theirs',
  'ends quietly when the store is closed in the midst of it',
  'what is held stays bounded by what is alive, without anybody pruning',
  'what is held stays bounded by what is alive, also for ids of our own and in batches',
]

beforeEach(({ task, skip }) => {
  if (SLOW.some((title) => task.name.includes(title))) skip()
})
