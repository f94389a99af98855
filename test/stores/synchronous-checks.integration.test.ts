import { afterAll, describe, expect, test } from 'vitest'
import { createFrozenClock } from 'tokenlib/testing'
import {
  FOREVER,
  isRevokedBy,
  type Revocation,
  type RevocationKey,
  type RevocationKind,
  type RevocationStore,
} from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import type { Clock } from '../../packages/tokenlib/src/time.js'
import { createFolder, HOUR } from './sqlite-fixture.js'

const folder = createFolder()
afterAll(() => folder.remove())

const openers: Readonly<Record<string, (clock: Clock) => Promise<RevocationStore>>> = {
  async memory(clock) {
    const store = createMemoryStore({ clock })
    await store.prepare({ longestLifetime: HOUR })
    return store
  },
  SQLite: (clock) => folder.openStore('synchronous', undefined, { clock }),
}

const entry = (id: string, until: number): Revocation => ({ kind: 'token', id, notBefore: FOREVER, until })

describe.each(Object.entries(openers))('isRevokedNow of the %s store', (_name, open) => {
  test('agrees with lookup, whatever is revoked and dropped', async () => {
    const clock = createFrozenClock()
    const store = await open(clock)
    const now = (): number => clock()
    const random = createRandom(20_260_101)
    const ids = createIds(random)
    const questions: Question[] = []
    const answers = new Set<boolean>()
    for (let round = 0; round < ROUNDS; round++) {
      questions.push(...Array.from({ length: 3 }, () => createQuestion(random, ids, now())))
      await change(store, random, ids, now(), round)
      if (round % 10 === 9) {
        clock.advance('1h')
        await store.prune(100)
      }
      for (const { keys, start } of questions) {
        const expected = isRevokedBy(await store.lookup(keys), start)
        expect(store.isRevokedNow?.(keys, start), `round ${round}: ${JSON.stringify({ keys, start })}`).toBe(
          expected,
        )
        answers.add(expected)
      }
      if (questions.length > 60) questions.splice(random(questions.length), 20)
    }
    expect(answers.size).toBe(2)
  })
})

const ROUNDS = 60

interface Question {
  readonly keys: readonly RevocationKey[]
  readonly start: number
}

/** A number from 0 to below a limit. */
type Random = (limit: number) => number

type Ids = Readonly<Record<RevocationKind, readonly string[]>>

// The same numbers in every run: mulberry32.
function createRandom(seed: number): Random {
  let state = seed
  return (limit) => {
    state = (state + 0x6d_2b_79_f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
}

function createId(random: Random): string {
  return Buffer.from(Array.from({ length: 16 }, () => random(256))).toString('base64url')
}

// Ids of 128 bits, some that differ in their last bits only, one with a word of zeros, and others of any length.
function createIds(random: Random): Ids {
  const create = (): string[] => {
    const long = Array.from({ length: 6 }, () => createId(random))
    const like = ['A', 'Q', 'g', 'w'].map((last) => (long[0] as string).slice(0, -1) + last)
    const zero = Buffer.alloc(16, 7).fill(0, 8, 12).toString('base64url')
    return [...new Set([...long, ...like]), zero, 'a', 'b', 'x'.repeat(128)]
  }
  return { token: create(), session: create(), user: create(), key: create(), all: [''] }
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random(items.length)] as Item
}

function createQuestion(random: Random, ids: Ids, now: number): Question {
  const kinds: readonly RevocationKind[] = ['all', 'user', 'key', 'session', 'token']
  const keys = kinds.filter(() => random(4) > 0).map((kind) => ({ kind, id: pick(random, ids[kind]) }))
  const start = now - HOUR + random(2 * HOUR)
  return { keys, start }
}

async function change(
  store: RevocationStore,
  random: Random,
  ids: Ids,
  now: number,
  round: number,
): Promise<void> {
  const kinds: readonly RevocationKind[] = ['user', 'key', 'session', 'token', 'token']
  const batch = Array.from({ length: 1 + random(3) }, () => {
    const kind = pick(random, kinds)
    const notBefore = random(2) === 0 ? FOREVER : now - HOUR + random(2 * HOUR)
    return { kind, id: pick(random, ids[kind]), notBefore, until: now + random(2 * HOUR) }
  })
  // Enough for a store to move what it has, now and then.
  const others = round % 6 === 5 ? Array.from({ length: 400 }, () => createId(random)) : []
  await store.revoke([...batch, ...others.map((id) => entry(id, now + random(2 * HOUR)))])
  if (round === ROUNDS / 2) await store.revoke([{ kind: 'all', id: '', notBefore: 0, until: 0 }])
}
