import { FOREVER, type Revocation, type RevocationKind } from '../revocation/revocation.js'
import type { Position, RevocationStore } from '../revocation/store.js'

/** The revocation of every token of an id. */
export function entry(kind: RevocationKind, id: string, until: number): Revocation {
  return { kind, id, notBefore: FOREVER, until }
}

/** Every page of a feed after a position, and where it ends. */
export async function readFrom(
  store: RevocationStore,
  after: Position | null,
): Promise<{ readonly entries: readonly Revocation[]; readonly next: Position }> {
  const entries: Revocation[] = []
  let next = after
  for (;;) {
    const page = await store.feed(next, { waitMs: 0 })
    entries.push(...page.entries)
    next = page.next
    if (!page.more) return { entries, next }
  }
}

/** Every entry of a store, as a reader from the start comes to see it. */
export async function readAll(store: RevocationStore): Promise<readonly Revocation[]> {
  const latest = new Map<string, Revocation>()
  for (const given of (await readFrom(store, null)).entries) latest.set(`${given.kind}:${given.id}`, given)
  return [...latest.values()]
}
