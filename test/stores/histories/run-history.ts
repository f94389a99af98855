import { deepEqual, ok } from 'node:assert/strict'
import {
  type Clock,
  FOREVER,
  type NewSession,
  type OpenedSession,
  type PresentedToken,
  type RotationRules,
  toCoarseMs,
} from '../../../packages/tokenlib/src/kit.js'
import { childOf, firstToken, HOUR } from '../../../packages/contracts/src/store-fixture.js'
import type { History, Step } from './history.js'
import { createReferenceStore, type HistoryStore } from './reference-store.js'

/** One place with data that histories use one after the other, each with users of its own. */
export interface HistoryPlace {
  /** Two stores on the same data, or one twice. */
  readonly stores: readonly [HistoryStore, HistoryStore]
  readonly clock: HistoryClock
}

/** A clock that stands still until a history moves it. */
export interface HistoryClock {
  readonly now: Clock
  moveTo(at: number): void
  /** The latest moment that it has shown. */
  latest(): number
}

/** How often each outcome was answered. */
export type Tally = Record<string, number>

/** A clock from a moment on; stores that drop data by a clock of their own must not be ahead of it. */
export function createHistoryClock(startedAt: number): HistoryClock {
  let at = startedAt
  let latest = startedAt
  return {
    now: () => at,
    moveTo(next) {
      at = next
      latest = Math.max(latest, next)
    },
    latest: () => latest,
  }
}

const NO_CLIENT = { ip: null, userAgent: null }
let histories = 0

/** Runs a history on a store and on the reference, and rejects at the first step whose answers or sessions differ. */
export async function runHistory({ stores, clock }: HistoryPlace, { rules, steps }: History): Promise<Tally> {
  // So late that the clock is never set back to a watermark of the histories before.
  clock.moveTo(clock.latest() + HOUR)
  const { now } = clock
  const reference = createReferenceStore(now)
  const prefix = `h${++histories}-`
  const users = [`${prefix}ada`, `${prefix}bob`] as const
  const tokens: { readonly sid: string; readonly token: PresentedToken }[] = []
  const ends = new Map<string, number>()
  const tally: Tally = {}
  let opened = 0
  let newestStart = 0

  // What both stores answer, if that is the same.
  const both = async <Answer>(
    { manager }: Pick<Step, 'manager'>,
    ask: (store: HistoryStore) => Promise<Answer>,
  ): Promise<Answer> => {
    const expected = await ask(reference)
    deepEqual(await ask(stores[manager]), expected)
    return expected
  }

  const toSession = (user: number, lastsMs: number): NewSession => {
    const end = lastsMs === FOREVER ? FOREVER : now() + lastsMs
    const nonce = `${histories}A${++opened}`.padStart(13, 'A') + 'A'
    const until = end === FOREVER ? FOREVER : end + 1000
    return { user: users[user] as string, nonce, expiresAt: end, until, ...NO_CLIENT }
  }

  const remember = ({ sid, startedAt }: OpenedSession, { until }: NewSession): void => {
    newestStart = Math.max(newestStart, startedAt)
    ends.set(sid, until)
    tokens.push({ sid, token: firstToken(sid) })
  }

  const pick = (distance: number): { readonly sid: string; readonly token: PresentedToken } =>
    tokens.at(-1 - (distance % tokens.length)) as (typeof tokens)[number]

  const readDuration = (by: string | number, { graceMs, idleMs }: RotationRules): number => {
    if (typeof by === 'number') return by
    const times: Record<string, number> = {
      grace: graceMs,
      idle: idleMs,
      coarse: toCoarseMs({ graceMs, idleMs }),
    }
    return times[by] === FOREVER ? 1 : (times[by] ?? 0)
  }

  // Takes a step, and returns the sessions that it may have changed.
  const take = async (step: Step): Promise<readonly string[]> => {
    const own = rules[step.manager]
    switch (step.do) {
      case 'open': {
        const session = toSession(step.user, step.lastsMs)
        const answer = await both(step, (store) => store.sessions.open(session))
        remember(answer, session)
        return [answer.sid]
      }
      case 'openLimited': {
        const session = toSession(step.user, step.lastsMs)
        const limit = { max: step.max, whenFull: step.whenFull, idleMs: own.idleMs }
        const answer = await both(step, (store) => store.sessions.openLimited(session, limit))
        if (answer.outcome === 'opened') remember(answer, session)
        count(answer.outcome)
        return [...ends.keys()]
      }
      case 'rotate': {
        const { sid, token } = pick(step.token)
        const options = { ...own, ...step.client }
        const answer = await both(step, (store) => store.sessions.rotate(sid, token, options))
        count(answer.outcome)
        if (answer.outcome === 'repeated' || answer.outcome === 'advanced') {
          tokens.push({ sid, token: childOf(token, answer.now) })
        }
        return [sid]
      }
      case 'present': {
        const { sid, token } = pick(step.token)
        const { outcome } = await both(step, (store) => store.sessions.present(sid, token, own))
        count(`presented: ${outcome}`)
        return [sid]
      }
      case 'lose': {
        const { sid, token } = pick(step.token)
        tokens.push({ sid, token: childOf(token, now()) })
        return []
      }
      case 'revoke': {
        const sid = [...ends.keys()].at(-1 - (step.session % ends.size)) as string
        const id = { session: sid, user: users[step.session % 2] as string, all: '' }[step.kind]
        await revoke(step, id)
        return [...ends.keys()]
      }
      case 'list': {
        const page = { limit: 1000, before: null, idleMs: own.idleMs }
        await both(step, (store) => store.sessions.list(users[step.user] as string, page))
        return []
      }
      case 'writeData': {
        const { sid } = pick(step.token)
        const found = await reference.sessions.get(sid, { idleMs: FOREVER })
        const before = step.isStale ? '{"stale":true}' : (found?.data ?? null)
        await both(step, (store) => store.sessions.writeData(sid, step.data, before))
        return [sid]
      }
      case 'prune': {
        await stores[step.manager].prune(1000)
        return [...ends.keys()]
      }
      case 'wait': {
        clock.moveTo(now() + Math.max(0, readDuration(step.by, own) + step.plusMs))
        return []
      }
      case 'setBack': {
        // What has ended may be gone: no clock is set back to a moment before that.
        const over = [...ends.values()].filter((until) => until <= now())
        clock.moveTo(Math.max(now() - readDuration(step.by, own) - step.plusMs, ...over))
        return []
      }
    }
  }

  // A watermark may be later than the clock, to cover sessions that started before it was set back.
  const revoke = async ({ kind, manager }: Step & { do: 'revoke' }, id: string): Promise<void> => {
    const entry = { kind, id, notBefore: kind === 'session' ? FOREVER : 0, until: 0 }
    const { now: taken } = await stores[manager].revoke([entry])
    const { now: least } = await reference.revoke([
      { ...entry, notBefore: kind === 'session' ? FOREVER : taken },
    ])
    if (kind === 'session') return
    ok(taken === least, `The watermark ${taken} is earlier than ${least}`)
    ok(taken <= Math.max(now(), newestStart), `The watermark ${taken} is later than all sessions`)
  }

  const count = (name: string): void => void (tally[name] = (tally[name] ?? 0) + 1)

  const compareSessions = async (step: Pick<Step, 'manager'>, sids: readonly string[]): Promise<void> => {
    const { idleMs } = rules[step.manager]
    await Promise.all(sids.map((sid) => both(step, (store) => store.sessions.get(sid, { idleMs }))))
  }

  await take({ do: 'open', manager: 0, user: 0, lastsMs: FOREVER })
  for (const [at, step] of steps.entries()) {
    try {
      await compareSessions(step, await take(step))
    } catch (error) {
      throw new Error(`Step ${at + 1}, ${step.do}: ${(error as Error).message}`, { cause: error })
    }
  }
  await compareEnd(stores, reference, users, ends, now())
  return tally
}

// Everything that can be read, through both stores, without an idle limit.
async function compareEnd(
  stores: HistoryPlace['stores'],
  reference: HistoryStore,
  users: readonly string[],
  ends: ReadonlyMap<string, number>,
  now: number,
): Promise<void> {
  const page = { limit: 1000, before: null, idleMs: FOREVER }
  const keys = [...ends.keys()].map((id) => ({ kind: 'session' as const, id }))
  const read = async (store: HistoryStore): Promise<unknown[]> => {
    const lists = await Promise.all(users.map((user) => store.sessions.list(user, page)))
    const revoked = await store.lookup(keys)
    // The entry of a session that has ended may be gone.
    return [lists, [...ends.values()].map((until, at) => now < until && revoked[at])]
  }
  const expected = await read(reference)
  for (const found of await Promise.all(stores.map(read))) deepEqual(found, expected)
}
