import {
  FOREVER,
  type ListOptions,
  type NewSession,
  type OpenedSession,
  type PresentedToken,
  readTimedId,
  type Revocation,
  ROOT,
  type Rotation,
  type RotationOptions,
  type SessionStore,
  type StoredSession,
  systemClock,
} from 'tokenlib/kit'
import type { RevocationStore } from 'tokenlib'
import type { Clock } from 'tokenlib/kit'
import { ok } from 'node:assert/strict'

/** A kind of store under test; `place` names the data of one test and is new for each test. */
export interface StoreUnderTest {
  /** Opens a store that uses the given clock, which never runs behind the real one. */
  open(place: string, clock: Clock): RevocationStore | Promise<RevocationStore>
  /** Whether opening a place twice gives two stores on the same data, as two processes would have them. */
  readonly isShared: boolean
  /** Whether the store has `restore`, so that `replicate` can repair it. */
  readonly isReplicable?: boolean
  /** Whether the store has `watch`, so that `replicate` is woken by it; a store that is replicable has it by default. */
  readonly isWatchable?: boolean
  /** Whether the store has `isRevokedNow`. */
  readonly checksSynchronously?: boolean
  /** Whether the store has `sessions.openLimited`. */
  readonly limitsSessions?: boolean
  /** Whether the store has `sessions.writeData`. */
  readonly keepsData?: boolean
  /** Whether the store has `spend`. */
  readonly spends?: boolean
  /** Destroys the data without the knowledge of its stores, like an operator's mistake. */
  wipe?(place: string): Promise<void>
  /** Counts the stored revocations and sessions, for a store that drops them by the given clock. */
  count?(place: string): Promise<number>
  /** Cleans up after a test, when its stores are closed. */
  remove?(place: string): Promise<void>
}

/** What a test of the contract gets. */
export interface StoreFixture {
  readonly store: RevocationStore
  /** The time that the store sees, in epoch milliseconds. */
  readonly now: () => number
  readonly advance: (milliseconds: number) => void
  /** A second store on the same data. */
  readonly another: () => Promise<RevocationStore>
  readonly wipe: () => Promise<void>
  readonly count: () => Promise<number>
}

/** Declares the tests of the contract, and says which of them apply. */
export interface StoreTests {
  readonly isShared: boolean
  readonly canCount: boolean
  readonly test: (title: string, run: (fixture: StoreFixture) => Promise<void>) => void
}

/** The longest lifetime that the contract asks a store for, in milliseconds. */
export const HOUR = 3_600_000

/** Runs a test on a fresh store, and cleans up after it. */
export async function withFixture(
  kind: StoreUnderTest,
  run: (fixture: StoreFixture) => Promise<void>,
): Promise<void> {
  // Letters and digits only: a place may become a file, a schema or a part of a key.
  const place = `test${crypto.randomUUID().replaceAll('-', '')}`
  const startedAt = systemClock()
  let shift = 0
  const now: Clock = () => startedAt + shift
  const opened: RevocationStore[] = []
  const open = async (): Promise<RevocationStore> => {
    const store = await kind.open(place, now)
    opened.push(store)
    await store.prepare({ longestLifetime: HOUR })
    return store
  }
  try {
    await run({
      store: await open(),
      now,
      advance: (milliseconds) => void (shift += milliseconds),
      another: open,
      wipe: async () => kind.wipe?.(place),
      count: async () => (await kind.count?.(place)) ?? Number.NaN,
    })
  } finally {
    for (const store of opened) await store.close()
    await kind.remove?.(place)
  }
}

const NO_CLIENT = { ip: null, userAgent: null }

/** The default rules of a rotation. */
export const RULES: RotationOptions = { graceMs: 10_000, idleMs: FOREVER, ...NO_CLIENT }

/** The same without a grace: every new token advances its session immediately. */
export const NO_GRACE: RotationOptions = { ...RULES, graceMs: 0 }

/** The refresh token of a login. */
export function firstToken(sid: string): PresentedToken {
  return { id: `${sid} 1`, parent: ROOT, generation: 1, issuedAt: readTimedId(sid) ?? 0 }
}

/** Uses the refresh token of a login, which advances its session. */
export function rotateFirst(sessions: SessionStore, sid: string): Promise<Rotation> {
  return sessions.rotate(sid, firstToken(sid), NO_GRACE)
}

let children = 0

/** Another child of a refresh token that was exchanged at a moment by the store's clock. */
export function childOf({ id, generation }: PresentedToken, issuedAt: number): PresentedToken {
  return { id: `child ${++children}`, parent: id, generation: generation + 1, issuedAt }
}

/** A session without its data, which a store may omit if empty. */
export function withoutData<Found extends StoredSession>(session: Found | null): Omit<Found, 'data'> | null {
  if (session === null) return null
  const { data: _data, ...rest } = session
  return rest
}

/** The default list query: the first page of a user's sessions. */
export const LIST: ListOptions = { limit: 1000, before: null, idleMs: FOREVER }

/** Every session of a user, read in pages; only the last page may be shorter than its limit. */
export async function readPages(
  sessions: SessionStore,
  user: string,
  options: Pick<ListOptions, 'limit' | 'idleMs'>,
): Promise<readonly (readonly StoredSession[])[]> {
  const pages: (readonly StoredSession[])[] = []
  for (let before: string | null = null; ;) {
    const page: readonly StoredSession[] = await sessions.list(user, { ...options, before })
    ok(page.length <= options.limit, `${page.length} sessions in a page of ${options.limit}`)
    pages.push(page)
    if (page.length < options.limit) return pages
    before = page.at(-1)?.sid ?? null
  }
}

/** Opens sessions, some at a time. */
export async function openMany(
  sessions: SessionStore,
  given: readonly NewSession[],
): Promise<readonly OpenedSession[]> {
  const opened: OpenedSession[] = []
  for (let at = 0; at < given.length; at += 50) {
    const some = given.slice(at, at + 50).map((one) => sessions.open(one))
    opened.push(...(await Promise.all(some)))
  }
  return opened
}

/** Declares tests that get a part of the store or fixture. */
type TestWith<Parts extends readonly unknown[]> = (
  title: string,
  run: (...parts: [...Parts, fixture: StoreFixture]) => Promise<void>,
) => void

/** Tests that get the sessions of their store. */
export function testSessions({ test }: StoreTests): TestWith<[sessions: SessionStore]> {
  return (title, run) =>
    test(title, async (fixture) => {
      const { sessions } = fixture.store
      ok(sessions, 'The store keeps no sessions')
      await run(sessions, fixture)
    })
}

/** Tests that get a session of the user `ada` as well, which was just opened. */
export function testOneSession(tests: StoreTests): TestWith<[sid: string, sessions: SessionStore]> {
  return (title, run) =>
    testSessions(tests)(title, async (sessions, fixture) => {
      const { sid } = await sessions.open(session(fixture))
      await run(sid, sessions, fixture)
    })
}

/** What revokes a session of the user `ada`: itself, or a watermark that the store raises to its own clock. */
export function revocationOf(kind: 'session' | 'user' | 'all', sid = ''): Revocation {
  const id = { session: sid, user: 'ada', all: '' }[kind]
  return { kind, id, notBefore: kind === 'session' ? FOREVER : 0, until: 0 }
}

let opened = 0

/** A session of an hour, with an id of its own; tokens of it may verify for a second longer. */
export function session({ now }: Pick<StoreFixture, 'now'>, given: Partial<NewSession> = {}): NewSession {
  const nonce = Buffer.alloc(10)
  nonce.writeUInt32BE(++opened, 6)
  return {
    user: 'ada',
    nonce: nonce.toString('base64url'),
    expiresAt: now() + HOUR,
    until: now() + HOUR + 1000,
    ...NO_CLIENT,
    ...given,
  }
}
