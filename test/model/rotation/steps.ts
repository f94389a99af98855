import type { RotationDecision } from '../../../packages/tokenlib/src/revocation/rotation.js'
import {
  type Bounds,
  decide,
  isServed,
  longestDelay,
  type Message,
  type Row,
  type Rule,
  type Side,
  type Token,
  type World,
} from './world.js'

/** A rule and what is around it, as it is shipped or as a variant has it. */
export interface Design {
  readonly rule: Rule
  /** How far the clocks behind that stamp new tokens: one that is behind makes them look older. */
  readonly stampLags: readonly number[]
  /** The refresh token in the answer to a `keep`. */
  readonly keepSends: 'nothing' | 'sibling' | 'itself'
}

/** A refresh that reached the server. */
export interface Refresh {
  readonly by: Side
  readonly outcome: RotationDecision['outcome']
  /** The request; `null` for a thief, whose requests take no time. */
  readonly request: Message | null
}

/** One thing that can happen next. */
export interface Step {
  readonly world: World
  readonly refresh: Refresh | null
  /** What happened, with the names of tokens; `null` for time that passes. */
  readonly tell: ((name: (id: number) => string) => string) | null
}

/** Everything that can happen next, always in the same order. */
export function listSteps(world: World, bounds: Bounds, design: Design): readonly Step[] {
  return [
    ...listMoments(world, bounds),
    ...listSendings(world, bounds, design),
    ...world.messages.flatMap((message, index) => listArrivals(world, bounds, design, message, index)),
    ...listCrashes(world, bounds),
    ...listThefts(world, bounds, design),
    ...listFaults(world, bounds),
  ]
}

function listMoments(world: World, bounds: Bounds): readonly Step[] {
  const isDue = ({ kind, age }: Message): boolean => age >= longestDelay(kind, bounds)
  if (world.messages.some(isDue)) return []
  const isBehind = world.disk.id !== world.jar.id
  if (isBehind && world.unflushed === bounds.flushDelay) return []
  const clocked = setClock(world, 1)
  const later = {
    ...clocked,
    messages: clocked.messages.map((message) => ({ ...message, age: message.age + 1 })),
    unflushed: isBehind && bounds.flushDelay !== null ? world.unflushed + 1 : 0,
    accessLeft: Math.max(0, world.accessLeft - 1),
    answeredAgo: world.answeredAgo + 1,
    advancedAgo: world.advancedAgo + 1,
  }
  return [{ world: later, refresh: null, tell: null }]
}

function listSendings(world: World, bounds: Bounds, { rule }: Design): readonly Step[] {
  const { jar, row, messages } = world
  if (messages.length >= bounds.tabs || !(bounds.isEager || world.accessLeft === 0)) return []
  const isDead = !isServed(decide(rule, bounds, row, jar).outcome)
  const sent: Message = { kind: 'request', token: jar, age: 0, isDead }
  return [
    {
      world: { ...world, messages: [...messages, sent] },
      refresh: null,
      tell: (name) => `A tab sends ${name(jar.id)}.`,
    },
  ]
}

function listArrivals(
  world: World,
  bounds: Bounds,
  design: Design,
  message: Message,
  index: number,
): readonly Step[] {
  const { kind, token, age } = message
  const left = { ...world, messages: world.messages.toSpliced(index, 1) }
  const steps: Step[] = []
  if (bounds.losesMessages) {
    steps.push({
      world: left,
      refresh: null,
      tell: (name) => `The ${kind === 'answer' ? 'answer' : 'request'} with ${nameOf(token, name)} is lost.`,
    })
  }
  if (kind === 'answer') return [...steps, deliver(left, bounds, message)]
  if (token === null) return steps
  if (kind === 'request' && bounds.orphanDelay !== null) {
    steps.push({
      world: { ...world, messages: world.messages.with(index, { ...message, kind: 'orphan' }) },
      refresh: null,
      tell: (name) => `A tab gives up on its request with ${name(token.id)}, which is still under way.`,
    })
  }
  const delay = age === 0 ? '' : ` after ${age}`
  for (const isCopied of world.duplicatesLeft > 0 ? [false, true] : [false]) {
    const before = isCopied ? { ...world, duplicatesLeft: world.duplicatesLeft - 1 } : left
    for (const served of serve(before, bounds, design, token, 'browser')) {
      const { outcome, issued, lag } = served
      const answer: Message = { kind: 'answer', token: issued, age: 0, isDead: false }
      const isAnswered = isServed(outcome) && kind === 'request'
      const messages = isAnswered ? [...before.messages, answer] : before.messages
      steps.push({
        world: { ...served.world, messages },
        refresh: { by: 'browser', outcome, request: message },
        tell: (name) =>
          `The server gets ${name(token.id)}${delay}: ${outcome}${tellIssued(outcome, issued, lag, name)}.` +
          (isCopied ? ' A second copy of the request is still under way.' : ''),
      })
    }
  }
  return steps
}

function deliver(world: World, bounds: Bounds, { token, age }: Message): Step {
  const arrived = {
    ...world,
    accessLeft: Math.max(0, bounds.accessLifetime - age),
    answeredAgo: 0,
    arrivals: world.bag === null ? 0 : world.arrivals + 1,
  }
  const delay = age === 0 ? '' : ` after ${age}`
  if (token === null || bounds.dropsCookies) {
    const ignored = token === null ? '' : ' Its cookies are dropped.'
    return { world: arrived, refresh: null, tell: () => `The answer arrives${delay}.${ignored}` }
  }
  return {
    world: { ...arrived, jar: token, former: world.jar },
    refresh: null,
    tell: (name) => `The answer arrives${delay}: the jar has ${name(token.id)}.`,
  }
}

function listCrashes(world: World, { flushDelay }: Bounds): readonly Step[] {
  if (flushDelay === null) return []
  const { jar, disk } = world
  const flushed = { ...world, disk: jar, unflushed: 0 }
  const orphans = world.messages.flatMap((message): Message[] =>
    message.kind === 'answer' ? [] : [{ ...message, kind: 'orphan' }],
  )
  const crashed = { ...world, jar: disk, unflushed: 0, accessLeft: 0, messages: orphans }
  return [
    ...(jar.id === disk.id
      ? []
      : [{ world: flushed, refresh: null, tell: () => 'The browser writes its cookies to disk.' }]),
    {
      world: crashed,
      refresh: null,
      tell: (name) => `The browser crashes, and starts again with ${name(disk.id)} from its disk.`,
    },
  ]
}

function listThefts(world: World, bounds: Bounds, design: Design): readonly Step[] {
  const { bag } = world
  if (bag === null) return listCopies(world, bounds, design)
  return bag.flatMap((token) =>
    serve(world, bounds, design, token, 'thief').map(({ world: after, outcome, issued, lag }) => ({
      world: issued === null ? after : { ...after, bag: [...bag, issued] },
      refresh: { by: 'thief', outcome, request: null },
      tell: (name) =>
        `The thief presents ${name(token.id)}: ${outcome}${tellIssued(outcome, issued, lag, name)}.`,
    })),
  )
}

function listCopies(world: World, bounds: Bounds, { rule }: Design): readonly Step[] {
  const { jar, former, row, messages } = world
  if (bounds.thief === 'jar') return [steal(world, jar, 'copies the jar, which has')]
  if (bounds.thief === 'answer') {
    return messages.flatMap(({ kind, token }) =>
      kind === 'answer' && token !== null ? [steal(world, token, 'reads the answer with')] : [],
    )
  }
  if (bounds.thief === null || former === null || former.id === jar.id) return []
  const isDead = !isServed(decide(rule, bounds, row, former).outcome)
  return isDead || bounds.thief === 'exchanged' ? [steal(world, former, 'finds an old token,')] : []
}

function steal(world: World, token: Token, deed: string): Step {
  return {
    world: { ...world, bag: [token], stolen: token.id },
    refresh: null,
    tell: (name) => `A thief ${deed} ${name(token.id)}.`,
  }
}

function listFaults(world: World, { clockChanges }: Bounds): readonly Step[] {
  const steps: Step[] = []
  const [lost, ...earlier] = world.earlier
  if (lost !== undefined) {
    steps.push({
      // The side that moved the session on may have to do it again.
      world: { ...world, row: lost, earlier, lostWritesLeft: world.lostWritesLeft - 1, movedBy: null },
      refresh: null,
      tell: (name) => `The store loses its last write: ${name(lost.current)} is current again.`,
    })
  }
  for (const change of world.isClockSet ? [] : clockChanges) {
    const direction = change < 0 ? 'back' : 'forward'
    steps.push({
      world: { ...setClock(world, change), isClockSet: true },
      refresh: null,
      tell: () => `The clock of the store is set ${direction} by ${Math.abs(change)}.`,
    })
  }
  return steps
}

interface Served {
  readonly world: World
  readonly outcome: RotationDecision['outcome']
  /** The refresh token in the answer. */
  readonly issued: Token | null
  readonly lag: number
}

// One result for each clock that may stamp the new token.
function serve(world: World, bounds: Bounds, design: Design, token: Token, by: Side): readonly Served[] {
  const { outcome, row } = decide(design.rule, bounds, world.row, token)
  const isOwn = world.bag !== null && token.id !== world.stolen
  const after = {
    ...world,
    row: row ?? world.row,
    earlier: row === null ? world.earlier : [world.row, ...world.earlier].slice(0, world.lostWritesLeft),
    movedBy: outcome === 'advance' && isOwn ? (world.movedBy ?? by) : world.movedBy,
    advancedAgo: outcome === 'advance' ? 0 : world.advancedAgo,
  }
  const { id, parent, generation } = token
  if (!isServed(outcome) || (outcome === 'keep' && design.keepSends === 'nothing'))
    return [{ world: after, outcome, issued: null, lag: 0 }]
  if (outcome === 'keep' && design.keepSends === 'itself')
    return [{ world: after, outcome, issued: token, lag: 0 }]
  const origin = outcome === 'keep' ? { parent, generation } : { parent: id, generation: generation + 1 }
  return design.stampLags.map((lag) => ({
    world: { ...after, nextId: world.nextId + 1 },
    outcome,
    issued: { id: world.nextId, ...origin, age: lag },
    lag,
  }))
}

// Moves the store's clock, by which tokens and rows have an age.
function setClock(world: World, change: number): World {
  const toRow = (row: Row): Row => ({
    ...row,
    movedAgo: row.movedAgo + change,
    usedAgo: row.usedAgo + change,
  })
  return {
    ...world,
    row: toRow(world.row),
    earlier: world.earlier.map(toRow),
    jar: addAge(world.jar, change),
    disk: addAge(world.disk, change),
    former: world.former && addAge(world.former, change),
    messages: world.messages.map((message) => ({
      ...message,
      token: message.token && addAge(message.token, change),
    })),
    bag: world.bag && world.bag.map((token) => addAge(token, change)),
  }
}

function addAge(token: Token, change: number): Token {
  return { ...token, age: token.age + change }
}

function nameOf(token: Token | null, name: (id: number) => string): string {
  return token === null ? 'an access token' : name(token.id)
}

function tellIssued(
  outcome: RotationDecision['outcome'],
  issued: Token | null,
  lag: number,
  name: (id: number) => string,
): string {
  if (outcome === 'keep' && issued === null) return ', a new access token only'
  if (issued === null) return ''
  const stamp = lag === 0 ? '' : `, stamped ${lag} too early`
  return `, issues ${name(issued.id)}, a child of ${name(issued.parent)}${stamp}`
}
