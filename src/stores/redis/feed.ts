import { FOREVER, type Revocation } from '../../revocation/revocation.js'
import type { FeedPage, Position } from '../../revocation/store.js'
import type { Reply } from './client.js'
import { fromMember, type Namespace } from './namespace.js'
import { FEED } from './revocation-scripts.js'

const PAGE = 1000

/** One page of the history of a namespace. */
export async function readFeed(namespace: Namespace, after: Position | null): Promise<FeedPage> {
  const from = after === null ? ['', '', '', ''] : readPosition(after)
  const reply = await namespace.run(FEED, ['log', 'past', 'marks'], [String(PAGE), ...from])
  const [outcome, ...rest] = reply.slice(4)
  const entries: Revocation[] = []
  for (let at = 0; at < rest.length; at += 2) {
    entries.push({ ...fromMember(String(rest[at])), ...readEntry(String(rest[at + 1])) })
  }
  return {
    entries,
    next: toPosition(reply),
    more: outcome === 'more',
    reset: outcome === 'reset',
    ageMs: 0,
  }
}

/** Where a script left off: in which history, after how many batches and the nonce of the last, and what was read. */
export function toPosition(reply: readonly Reply[]): Position {
  return reply.slice(0, 4).join('|')
}

/** The `notBefore` and the `until` of an entry as the scripts write them. */
export function readEntry(value: string): Pick<Revocation, 'notBefore' | 'until'> {
  const [first, second] = value.split(':').map(Number) as [number, number | undefined]
  return second === undefined ? { notBefore: FOREVER, until: first } : { notBefore: first, until: second }
}

const POSITION = /^([\w-]+)\|(\d{1,16})\|([\w-]*)\|(\d{1,16})$/

// Whatever is no position of ours is one of a history that is not there.
function readPosition(position: Position): string[] {
  return POSITION.exec(position)?.slice(1) ?? ['-', '0', '-', '0']
}
