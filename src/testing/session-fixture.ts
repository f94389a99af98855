import { ok } from 'node:assert/strict'
import { FOREVER } from '../revocation/revocation.js'
import type {
  ListOptions,
  NewSession,
  OpenedSession,
  RotationOptions,
  SessionStore,
  StoredSession,
} from '../revocation/store.js'
import { HOUR, type StoreFixture, type StoreTests } from './store-fixture.js'

const NO_CLIENT = { ip: null, userAgent: null }

/** The rules of a rotation, where a test does not care for others. */
export const RULES: RotationOptions = { graceMs: 10_000, idleMs: FOREVER, ...NO_CLIENT }

/** The first page of a user's sessions, where a test does not care for others. */
export const LIST: ListOptions = { limit: 1000, before: null, idleMs: FOREVER }

/** Every session of a user, read in pages; none may be shorter than its limit but the last one. */
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

/** Declares a test of a store's sessions. */
export type SessionTest = (
  title: string,
  run: (sessions: SessionStore, fixture: StoreFixture) => Promise<void>,
) => void

/** Tests that get the sessions of their store at hand. */
export function testSessions({ test }: StoreTests): SessionTest {
  return (title, run) => {
    test(title, async (fixture) => {
      const { sessions } = fixture.store
      ok(sessions, 'The store keeps no sessions')
      await run(sessions, fixture)
    })
  }
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
