import {
  type Bounds,
  decide,
  isServed,
  longestDelay,
  MAX_ARRIVALS,
  type Message,
  type Row,
  type Rule,
  type Token,
  type World,
} from './world.js'

/** A world in the one form that all worlds like it have. */
export interface Settled {
  readonly world: World
  /** Equal for worlds that are alike. */
  readonly key: string
  /** The new number of each id. */
  readonly names: ReadonlyMap<number, number>
}

/** What a world is settled by. */
export interface SettleOptions {
  readonly bounds: Bounds
  readonly rule: Rule
  /** Whether a thief keeps tokens that cannot yield anything. */
  readonly keepsDead: boolean
}

/**
 * What makes a search end: times that cannot matter any more stop growing, what nobody can ever use is dropped, generations
 * count from the row, and ids are numbered in the order in which they appear.
 */
export function settle(world: World, options: SettleOptions): Settled {
  return rename(tidy(world, options), options.bounds)
}

// Here and in `rename`, the fields of a world are written out: worlds are copied millions of times, and spreading an object
// with this many fields takes three times as long.
function tidy(world: World, options: SettleOptions): World {
  const { grace, idle, isEager, accessLifetime, thief, flushDelay, clockChanges } = options.bounds
  // A clock that is set back makes everything younger: what is old by then must still be old.
  const lead = world.isClockSet ? 0 : Math.max(0, ...clockChanges.map((change) => -change))
  const longest = Math.max(grace, idle === null ? 0 : idle + 1) + lead
  const toToken = (token: Token): Token => (token.age <= longest ? token : { ...token, age: longest })
  const toRow = (row: Row): Row => ({
    ...row,
    movedAgo: Math.min(row.movedAgo, grace + lead),
    usedAgo: idle === null ? 0 : Math.min(row.usedAgo, idle + 1 + lead),
  })
  const toMessage = ({ kind, token, age, isDead }: Message): Message => {
    const isEndless = longestDelay(kind, options.bounds) === Infinity
    // The age of an answer is taken from the life of its access token.
    const most = kind === 'answer' && !isEager ? accessLifetime : 0
    return { kind, token: token && toToken(token), age: isEndless ? Math.min(age, most) : age, isDead }
  }
  const isFormerNeeded = world.bag === null && (thief === 'exchanged' || thief === 'dead')
  const earlier = world.earlier.map(toRow)
  const jar = toToken(world.jar)
  const tidied: World = {
    row: toRow(world.row),
    earlier,
    jar,
    disk: flushDelay === null ? jar : toToken(world.disk),
    unflushed: flushDelay === Infinity ? 0 : world.unflushed,
    former: isFormerNeeded && world.former ? toToken(world.former) : null,
    accessLeft: isEager ? 0 : world.accessLeft,
    messages: world.messages.map(toMessage),
    bag: world.bag,
    stolen: world.movedBy === null || earlier.length > 0 ? world.stolen : null,
    movedBy: world.movedBy,
    advancedAgo: world.movedBy === null ? 0 : Math.min(world.advancedAgo, grace),
    arrivals: Math.min(world.arrivals, MAX_ARRIVALS),
    answeredAgo: idle === null ? 0 : Math.min(world.answeredAgo, idle + 1),
    duplicatesLeft: world.duplicatesLeft,
    lostWritesLeft: world.lostWritesLeft,
    isClockSet: world.isClockSet,
    nextId: world.nextId,
  }
  return world.bag === null ? tidied : { ...tidied, bag: toBag(tidied, world.bag.map(toToken), options) }
}

// Of tokens that are alike and that nobody else has, the thief needs one: whatever he gets for two of them, he also gets if he
// presents the same one each time. A dead token stays dead: NO_REVIVAL shows it, with thieves who keep them.
function toBag(
  { row, earlier, jar, disk, stolen }: World,
  bag: readonly Token[],
  { bounds, rule, keepsDead }: SettleOptions,
): readonly Token[] {
  const places = [row, ...earlier]
  const isAlive = (token: Token): boolean =>
    places.some((place) => isServed(decide(rule, bounds, place, token).outcome))
  const shared = new Set([jar.id, disk.id, stolen])
  const stored = new Set(places.flatMap((place) => [place.current, place.previous]))
  const parents = new Set(bag.map(({ parent }) => parent))
  // Once the session has moved past both, it does not matter whose child a token is.
  const isAncient = ({ parent, generation }: Token): boolean =>
    generation < row.generation && !stored.has(parent)
  const hasPlace = (token: Token): boolean =>
    stored.has(token.id) || (parents.has(token.id) && !isAncient(token))
  const seen = new Set<string>()
  const isNeeded = (token: Token): boolean => {
    const { id, parent, generation, age } = token
    const origin = isAncient(token) ? 'ancient' : `${parent}/${generation}`
    const alike = `${shared.has(id) ? id : ''}/${origin}/${age}`
    const isNew = !seen.has(alike)
    seen.add(alike)
    return isNew || hasPlace(token)
  }
  const kept = keepsDead ? bag : bag.filter(isAlive)
  return [...kept.filter(hasPlace), ...kept.filter((token) => !hasPlace(token))].filter(isNeeded)
}

function rename(world: World, { lostWrites }: Bounds): Settled {
  const names = new Map<number, number>()
  const name = (id: number): number => {
    const known = names.get(id)
    if (known !== undefined) return known
    names.set(id, names.size)
    return names.size - 1
  }
  const { generation: base } = world.row
  // Lost writes take a session back by as many generations: what is older than that is never ahead of it.
  const oldest = -2 - lostWrites
  const toToken = ({ id, parent, generation, age }: Token): Token => ({
    id: name(id),
    parent: name(parent),
    generation: Math.max(generation - base, oldest),
    age,
  })
  const toRow = ({ current, previous, generation, movedAgo, usedAgo }: Row): Row => ({
    current: name(current),
    previous: previous === null ? null : name(previous),
    generation: generation - base,
    movedAgo,
    usedAgo,
  })
  // By what is known of a token without the number that it happens to have.
  const rank = ({ id, parent, generation, age }: Token): number[] => [
    generation,
    age,
    names.get(id) ?? names.size,
    names.get(parent) ?? names.size,
  ]
  const rankMessage = (message: Message): number[] => [
    ...toNumbers(message),
    ...(message.token === null ? [] : rank(message.token)),
  ]

  const row = toRow(world.row)
  const earlier = world.earlier.map(toRow)
  const jar = toToken(world.jar)
  const disk = toToken(world.disk)
  const former = world.former && toToken(world.former)
  const messages = sortBy(world.messages, rankMessage).map((message) => ({
    ...message,
    token: message.token && toToken(message.token),
  }))
  const bag = world.bag && sortBy(world.bag, rank).map(toToken)
  const stolen = world.stolen === null ? null : name(world.stolen)
  const renamed: World = {
    row,
    earlier,
    jar,
    disk,
    unflushed: world.unflushed,
    former,
    accessLeft: world.accessLeft,
    messages,
    bag,
    stolen,
    movedBy: world.movedBy,
    advancedAgo: world.advancedAgo,
    arrivals: world.arrivals,
    answeredAgo: world.answeredAgo,
    duplicatesLeft: world.duplicatesLeft,
    lostWritesLeft: world.lostWritesLeft,
    isClockSet: world.isClockSet,
    nextId: names.size,
  }
  return { world: renamed, key: toKey(renamed), names }
}

const KINDS: readonly Message['kind'][] = ['request', 'orphan', 'answer']

function toNumbers({ kind, age, isDead }: Message): number[] {
  return [KINDS.indexOf(kind), age, isDead ? 1 : 0]
}

function sortBy<T>(items: readonly T[], rank: (item: T) => readonly number[]): readonly T[] {
  if (items.length < 2) return items
  return items
    .map((item) => ({ item, ranks: rank(item) }))
    .toSorted((a, b) => compare(a.ranks, b.ranks))
    .map(({ item }) => item)
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const difference = value - (b[index] ?? -Infinity)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

const NOTHING = -500
const SIDES = [null, 'browser', 'thief']

// One character for each number: a search remembers tens of thousands of these.
function toKey(world: World): string {
  const { row, earlier, jar, disk, former, messages, bag, stolen, movedBy } = world
  const numbers = [
    earlier.length,
    messages.length,
    bag === null ? NOTHING : bag.length,
    stolen ?? NOTHING,
    SIDES.indexOf(movedBy),
    world.advancedAgo,
    world.unflushed,
    world.accessLeft,
    world.arrivals,
    world.answeredAgo,
    world.duplicatesLeft,
    world.lostWritesLeft,
    world.isClockSet ? 1 : 0,
  ]
  const addRow = ({ current, previous, generation, movedAgo, usedAgo }: Row): unknown =>
    numbers.push(current, previous ?? NOTHING, generation, movedAgo, usedAgo)
  const addToken = (token: Token | null): unknown =>
    token === null ? numbers.push(NOTHING) : numbers.push(token.id, token.parent, token.generation, token.age)
  addRow(row)
  for (const place of earlier) addRow(place)
  for (const token of [jar, disk, former]) addToken(token)
  for (const message of messages) {
    numbers.push(...toNumbers(message))
    addToken(message.token)
  }
  for (const token of bag ?? []) addToken(token)
  // Far from zero, and below the first surrogate.
  return String.fromCharCode(...numbers.map((number) => number + 1000))
}
