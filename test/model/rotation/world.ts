import { FOREVER } from '../../../packages/tokenlib/src/revocation/revocation.js'
import type { decideRotation, RotationDecision } from '../../../packages/tokenlib/src/revocation/rotation.js'

/** A rule with the signature of the one that is shipped. */
export type Rule = typeof decideRotation

/** What can happen in a world, and for how long. Times are in ticks. */
export interface Bounds {
  readonly grace: number
  readonly accessLifetime: number
  /** `null` for no limit. */
  readonly idle: number | null
  /** How many messages can be under way. */
  readonly tabs: number
  /** Whether a tab refreshes whenever it likes, and not only when the access token has expired. */
  readonly isEager: boolean
  /** How long a request can be under way; `Infinity` for any time. */
  readonly requestDelay: number
  readonly answerDelay: number
  /** The same for a request that its tab gave up on: nobody gets the answer. `null` for tabs that never give up. */
  readonly orphanDelay: number | null
  readonly losesMessages: boolean
  /** How many requests reach the server twice. */
  readonly duplicates: number
  /** How many writes the store loses. */
  readonly lostWrites: number
  /** The store's clock is set once, by one of these. */
  readonly clockChanges: readonly number[]
  /** How long the browser takes to write its cookies to disk; `null` for a browser that never crashes. */
  readonly flushDelay: number | null
  /** Whether the browser ignores the refresh tokens that it gets. */
  readonly dropsCookies: boolean
  /** What a thief can copy, once: the jar, an answer under way, what the jar had before, or that only if it is dead. */
  readonly thief: 'jar' | 'answer' | 'exchanged' | 'dead' | null
}

/** A refresh token. */
export interface Token {
  readonly id: number
  readonly parent: number
  readonly generation: number
  /** By the store's clock, which can be set back: negative for a token of the future. */
  readonly age: number
}

/** What the store knows of the session. */
export interface Row {
  readonly current: number
  readonly previous: number | null
  readonly generation: number
  /** By the store's clock, as `usedAgo`. */
  readonly movedAgo: number
  readonly usedAgo: number
}

/** A message under way. An `orphan` is a request that nobody waits for. An answer can have an access token only. */
export interface Message {
  readonly kind: 'request' | 'orphan' | 'answer'
  readonly token: Token | null
  readonly age: number
  /** Whether the token was dead when it was sent. */
  readonly isDead: boolean
}

/** Who refreshes: an honest browser, or someone with a copy of its cookies. */
export type Side = 'browser' | 'thief'

/** A moment in the life of a session. */
export interface World {
  readonly row: Row
  /** The row before its last writes, newest first: as many as the store may still lose. */
  readonly earlier: readonly Row[]
  readonly jar: Token
  /** What the jar has after a crash of the browser. */
  readonly disk: Token
  /** How long the disk has been behind the jar. */
  readonly unflushed: number
  /** What the jar had before, until it is stolen. */
  readonly former: Token | null
  readonly accessLeft: number
  readonly messages: readonly Message[]
  /** The thief's tokens; `null` before the theft. */
  readonly bag: readonly Token[] | null
  /** The token that both sides have. */
  readonly stolen: number | null
  /** The side that moved the session on with a token that the other side does not have. */
  readonly movedBy: Side | null
  /** How long ago the session moved on, whatever the row says. */
  readonly advancedAgo: number
  /** How many answers the browser got since the theft. */
  readonly arrivals: number
  /** How long ago the browser got an answer. */
  readonly answeredAgo: number
  readonly duplicatesLeft: number
  readonly lostWritesLeft: number
  readonly isClockSet: boolean
  readonly nextId: number
}

/** More arrivals than this are not counted. */
export const MAX_ARRIVALS = 6

/** How long a message can be under way. */
export function longestDelay(
  kind: Message['kind'],
  { requestDelay, answerDelay, orphanDelay }: Bounds,
): number {
  if (kind === 'answer') return answerDelay
  return kind === 'orphan' ? (orphanDelay ?? requestDelay) : requestDelay
}

// Far enough from zero for every moment and generation of a small world.
const NOW = 1_000_000
const GENERATIONS = 1000

/** A session that was opened just now. */
export function createWorld(bounds: Bounds): World {
  const first = { id: 1, parent: 0, generation: 1, age: 0 }
  return {
    row: { current: 0, previous: null, generation: 0, movedAgo: 0, usedAgo: 0 },
    earlier: [],
    jar: first,
    disk: first,
    unflushed: 0,
    former: null,
    accessLeft: bounds.accessLifetime,
    messages: [],
    bag: null,
    stolen: null,
    movedBy: null,
    advancedAgo: 0,
    arrivals: 0,
    answeredAgo: 0,
    duplicatesLeft: bounds.duplicates,
    lostWritesLeft: bounds.lostWrites,
    isClockSet: false,
    nextId: 2,
  }
}

/** What a rule decides about a token, in the terms of a world: `row` is what is written, `null` for nothing. */
export function decide(
  rule: Rule,
  { grace, idle }: Bounds,
  row: Row,
  token: Token,
): { readonly outcome: RotationDecision['outcome']; readonly row: Row | null } {
  const state = {
    current: toId(row.current),
    previous: row.previous === null ? null : toId(row.previous),
    generation: GENERATIONS + row.generation,
    movedAt: NOW - row.movedAgo,
    lastUsedAt: NOW - row.usedAgo,
    until: FOREVER,
    isRevoked: false,
  }
  const presented = {
    id: toId(token.id),
    parent: toId(token.parent),
    generation: GENERATIONS + token.generation,
    issuedAt: NOW - token.age,
  }
  const decision = rule(state, presented, { graceMs: grace, idleMs: idle ?? FOREVER }, NOW)
  const place = 'place' in decision ? decision.place : null
  if (place === null) return { outcome: decision.outcome, row: null }
  const written = {
    current: fromId(place.current),
    previous: place.previous === null ? null : fromId(place.previous),
    generation: place.generation - GENERATIONS,
    movedAgo: NOW - place.movedAt,
    usedAgo: NOW - place.lastUsedAt,
  }
  return { outcome: decision.outcome, row: written }
}

/** Whether the presented token got new tokens. */
export function isServed(outcome: RotationDecision['outcome']): boolean {
  return outcome === 'repeat' || outcome === 'keep' || outcome === 'advance'
}

function toId(id: number): string {
  return `#${id}`
}

function fromId(id: string): number {
  return Number(id.slice(1))
}
