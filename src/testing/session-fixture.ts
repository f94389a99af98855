import { ok } from 'node:assert/strict'
import { FOREVER } from '../revocation/revocation.js'
import type { NewSession, RotationOptions, SessionStore } from '../revocation/session-store.js'
import { HOUR, type StoreFixture, type StoreTests } from './store-fixture.js'

const NO_CLIENT = { ip: null, userAgent: null }

/** The rules of a rotation, where a test does not care for others. */
export const RULES: RotationOptions = { graceMs: 10_000, idleMs: FOREVER, ...NO_CLIENT }

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
