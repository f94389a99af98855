import {
  FOREVER,
  type Revocation,
  type RevocationKey,
  type LookupAnswer,
} from '../../revocation/revocation.js'
import type { FeedPage, Position } from '../../revocation/store.js'
import type { Reply } from './client.js'
import { fromMember, type Namespace, toMember } from './namespace.js'
import { FEED } from './revocation-scripts.js'

/** The lookups that one script answers. */
interface Batch {
  readonly names: string[]
  /** The indexes of names that nearly all tokens have in common. */
  readonly common: Map<string, number>
  /** By index; `undefined` where there is no such key. */
  readonly values: Promise<ReadonlyMap<number, string>>
}

/** The most keys of one script: the server does nothing else meanwhile. */
const MAX_KEYS = 500

/**
 * Answers about revocation keys. Lookups of one turn of the event loop share a script: most of what a command costs does
 * not depend on the number of its keys.
 */
export function createLookup(
  namespace: Namespace,
): (keys: readonly RevocationKey[]) => Promise<LookupAnswer> {
  const prefix = namespace.key('r:')
  let batch: Batch | null = null

  const createBatch = (): Batch => {
    const names: string[] = []
    const values = new Promise<ReadonlyMap<number, string>>((resolve) => {
      // Once the requests that arrived together are read.
      setImmediate(() => {
        if (batch?.names === names) batch = null
        resolve(namespace.read(names))
      })
    })
    return { names, common: new Map(), values }
  }

  // Returns the index of its name.
  const addKey = ({ names, common }: Batch, key: RevocationKey): number => {
    const name = prefix + toMember(key)
    if (key.kind !== 'all' && key.kind !== 'key') return names.push(name) - 1
    const index = common.get(name) ?? names.push(name) - 1
    common.set(name, index)
    return index
  }

  const lookup = async (keys: readonly RevocationKey[]): Promise<LookupAnswer> => {
    if (keys.length > MAX_KEYS) {
      const parts = [keys.slice(0, MAX_KEYS), keys.slice(MAX_KEYS)]
      return (await Promise.all(parts.map(lookup))).flat()
    }
    const joined = batch !== null && batch.names.length + keys.length <= MAX_KEYS ? batch : createBatch()
    batch = joined
    const indexes = keys.map((key) => addKey(joined, key))
    const values = await joined.values
    return indexes.map((index) => {
      const value = values.get(index)
      return value === undefined ? undefined : readEntry(value).notBefore
    })
  }

  return lookup
}

const PAGE_SIZE = 1000

/** One page of the history of a namespace. */
export async function readFeed(namespace: Namespace, after: Position | null): Promise<FeedPage> {
  const from = after === null ? ['', '', '', ''] : readPosition(after)
  const reply = await namespace.run(FEED, ['log', 'past', 'marks'], [String(PAGE_SIZE), ...from])
  const [outcome, found] = reply.slice(4)
  const texts = found === undefined ? [] : (JSON.parse(String(found)) as string[])
  const entries: Revocation[] = []
  for (let at = 0; at < texts.length; at += 2) {
    const { kind, id } = fromMember(texts[at] as string)
    const { notBefore, until } = readEntry(texts[at + 1] as string)
    entries.push({ kind, id, notBefore, until })
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
  const colon = value.indexOf(':')
  if (colon === -1) return { notBefore: FOREVER, until: Number(value) }
  return { notBefore: Number(value.slice(0, colon)), until: Number(value.slice(colon + 1)) }
}

const POSITION = /^([\w-]+)\|(\d{1,16})\|([\w-]*)\|(\d{1,16})$/

// Whatever is no position of ours is one of a history that is not there.
function readPosition(position: Position): string[] {
  return POSITION.exec(position)?.slice(1) ?? ['-', '0', '-', '0']
}
