import { readByteLists } from './byte-lists.js'
import { csrfOfToken, type SecretText } from './secret-texts.js'
import { createShownWindows, type ShownText, type Sighting, toComparable, WINDOW } from './shown-windows.js'
import { isInSource } from './source-text.js'

/** Characters of a secret that were shown. The secret itself is not in here. */
export interface Leak {
  /** What the secret is, and how it was written. */
  readonly secret: string
  /** Where in the secret. */
  readonly at: number
  /** What kind of text shows it. */
  readonly origin: string
  /** Where in the text. */
  readonly offset: number
  /** How many characters. */
  readonly length: number
}

/** What is shown: each kind is counted, and each is sampled by itself. */
export type ShownKind = 'errors' | 'plain errors' | 'events' | 'log lines' | 'objects'

/** How much a record has compared. */
export interface LeakCounts {
  readonly shown: Readonly<Record<ShownKind, number>>
  /** Different texts that were read of what was shown. */
  readonly texts: number
  readonly secrets: number
}

/** Reads the texts of something; when there is a lot of it, mostly the short ones alone. */
export type ReadTexts = (isThorough: boolean) => readonly ShownText[]

/** The secrets of a test file, and what it shows. */
export interface LeakRecord {
  addSecret(secret: SecretText): void
  /** A token, and the CSRF value in it. */
  addToken(kind: string, token: string): void
  /** A CSRF value that came in. */
  addCsrf(kind: string, csrf: string): void
  /** Something is shown; its texts are read later, when it is finished. */
  show(kind: ShownKind, read: ReadTexts): void
  /** Whether this was asked before; for what is slow to read and shown again and again. */
  isKnown(key: string): boolean
  /** Reads what was shown, and lets go of it. */
  settle(): void
  /** The secrets so far that nobody shows by chance: some tests have a secret of one letter, others show that letter. */
  secrets(): SecretText[]
  /** Everything that was shown of a secret, so far. */
  search(): Leak[]
  counts(): LeakCounts
}

// A file that makes a hundred thousand tokens makes them all alike: all of the first, and then one in a hundred.
const ALL_OF = 10_000
const THOROUGH = 500
const THEN_ONE_IN = 100
// Of a secret in hex, which has the fewest.
const FEWEST_LETTERS = 12
// No more than this is kept alive: some tests look at what is garbage.
const MOST_WAITING = 5000
// Of what is longer, the beginning: some tests hand in megabytes.
const LONGEST = 100_000

/** A record with nothing shown, and with the secrets that are known already. */
export function createLeakRecord(inherited: readonly SecretText[] = []): LeakRecord {
  const windows = createShownWindows()
  const secrets = new Map<string, Omit<Required<SecretText>, 'text'>>()
  const known = new Set<string>()
  const shown = { errors: 0, 'plain errors': 0, events: 0, 'log lines': 0, objects: 0 }
  const arrived = { ...shown, tokens: 0 }
  let waiting: (() => void)[] = []

  // All work is put off: it would be counted where a test counts what a call costs.
  const later = (work: () => void): void => {
    if (waiting.push(work) > MOST_WAITING) settle()
  }

  const addSecret = ({ kind, text, fewest = WINDOW }: SecretText): void => {
    if (text.length < WINDOW || fewest >= (secrets.get(text)?.fewest ?? Number.POSITIVE_INFINITY)) return
    secrets.set(text, { kind, fewest })
  }

  const settle = (): void => {
    const ready = waiting
    waiting = []
    withoutSourceMaps(() => ready.forEach((read) => read()))
  }

  for (const secret of inherited) addSecret(secret)

  return {
    addSecret,
    addToken(kind, token) {
      if (!isSampled(++arrived.tokens, ALL_OF)) return
      later(() => {
        const text = token.slice(0, LONGEST)
        if (secrets.has(text) || !isToken(text)) return
        addSecret({ kind, text })
        const csrf = csrfOfToken(text)
        if (isRandom(csrf)) addSecret({ kind: 'a CSRF value', text: csrf })
      })
    },
    addCsrf(kind, csrf) {
      later(() => isRandom(csrf) && addSecret({ kind, text: csrf }))
    },
    show(kind, read) {
      const count = ++arrived[kind]
      if (!isSampled(count, ALL_OF)) return
      later(() => {
        const texts = read(isSampled(count, THOROUGH))
        if (texts.length > 0) shown[kind]++
        for (const { origin, text } of texts) {
          if (!windows.add({ origin, text })) continue
          for (const bytes of readByteLists(text)) windows.add({ origin, text: bytes })
        }
      })
    },
    isKnown(key) {
      if (known.has(key)) return true
      if (known.size < ALL_OF) known.add(key)
      return false
    },
    settle,
    secrets() {
      settle()
      const known = Array.from(secrets, ([text, rest]) => ({ text, ...rest }))
      return known.filter(({ text }) => new Set(text).size >= FEWEST_LETTERS)
    },
    search() {
      settle()
      return [...secrets].flatMap(([text, { kind, fewest }]) => {
        const leaks: Leak[] = []
        windows.search(text, (at, sighting) => {
          if (extendLast(leaks, at, sighting) || isHarmless(toComparable(text), at, sighting)) return
          leaks.push({ secret: kind, at, origin: sighting.origin, offset: sighting.offset, length: WINDOW })
        })
        return leaks.filter(({ length }) => length >= fewest)
      })
    },
    counts: () => ({ shown: { ...shown }, texts: windows.size, secrets: secrets.size }),
  }
}

// Two objects in base64url, and a signature. Tests hand in any text there is, and show the same words in claims and in
// messages: what could never be a token is nobody's secret.
function isToken(text: string): boolean {
  return /^e[w-z\d_-][\w-]+\.e[w-z\d_-][\w-]+\.[\w-]{24,}$/.test(text)
}

// As ours are, and those of others: tests also put words there that they show elsewhere.
function isRandom(csrf: string): boolean {
  return csrf.length <= 64 && /^[\w-]{20,}$/.test(csrf) && new Set(csrf).size >= WINDOW
}

function isSampled(count: number, all: number): boolean {
  return count <= all || count % THEN_ONE_IN === 0
}

// A run of windows side by side is one leak.
function extendLast(leaks: Leak[], at: number, { origin, offset }: Sighting): boolean {
  const last = leaks.at(-1)
  if (last?.origin !== origin) return false
  const step = last.length - WINDOW + 1
  if (last.at + step !== at || last.offset + step !== offset) return false
  leaks[leaks.length - 1] = { ...last, length: last.length + 1 }
  return true
}

const ID_LENGTH = 22

function isHarmless(secret: string, at: number, { text, offset }: Sighting): boolean {
  // The secrets of tests are English: "algorithm" is in one of them and in a message. What stands in the source of the
  // library was in its texts before there was a secret.
  if (isInSource(secret.slice(at, at + WINDOW))) return true
  // Ids are as random as signatures, and there are so many of both that once in some hundred runs two of them have
  // eight characters in common. An id is a piece of a secret as a whole, or not at all.
  const word = wordAt(text, offset)
  return word.length === ID_LENGTH && !secret.includes(word)
}

function wordAt(text: string, offset: number): string {
  const [before = ''] = /[\w-]*$/.exec(text.slice(Math.max(0, offset - ID_LENGTH), offset)) ?? []
  const [after = ''] = /^[\w-]*/.exec(text.slice(offset, offset + ID_LENGTH + 1)) ?? []
  return before + after
}

// Mapping a stack to its sources takes milliseconds. A test that failed has had its error read before it gets here.
function withoutSourceMaps(run: () => void): void {
  const mapStack: unknown = Reflect.get(Error, 'prepareStackTrace')
  Reflect.set(Error, 'prepareStackTrace', undefined)
  try {
    run()
  } finally {
    Reflect.set(Error, 'prepareStackTrace', mapStack)
  }
}
