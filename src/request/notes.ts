const NOTES = Symbol('tokenlib')

/** Something with notes on it: a request, a view of one, or a verified token. */
interface Noted {
  [NOTES]?: Note
}

// Private, so that nothing of it shows where a request is logged.
class Note {
  readonly #owner: object
  readonly #author: object
  #value: unknown
  readonly #next: Note | undefined

  constructor(owner: object, author: object, value: unknown, next: Note | undefined) {
    this.#owner = owner
    this.#author = author
    this.#value = value
    this.#next = next
  }

  // An object that inherits from the owner, or was copied from it, has the owner's notes on it: they are not its own.
  static find(first: Note | undefined, owner: object, author: object): Note | undefined {
    for (let note = first; note !== undefined; note = note.#next) {
      if (note.#author === author && note.#owner === owner) return note
    }
    return undefined
  }

  static valueOf(note: Note | undefined): unknown {
    return note === undefined ? undefined : note.#value
  }

  static replace(note: Note, value: unknown): void {
    note.#value = value
  }
}

// What cannot be written on. A WeakMap for all would cost every request a few microseconds.
const frozen = new WeakMap<object, Note>()
let hasFrozen = false

/** What `author` has written on `owner` last, or `undefined`. */
export function readNote(owner: object, author: object): unknown {
  return Note.valueOf(Note.find(firstNote(owner), owner, author))
}

/**
 * Writes something on an object that lives as long as the object does, and that only `author` finds.
 *
 * It replaces what the author has written before: a GraphQL request may run one guard for tens of thousands of fields.
 */
export function writeNote(owner: object, author: object, value: unknown): void {
  const first = firstNote(owner)
  const own = Note.find(first, owner, author)
  if (own !== undefined) return Note.replace(own, value)
  const note = new Note(owner, author, value, first)
  try {
    ;(owner as Noted)[NOTES] = note
  } catch {
    frozen.set(owner, note)
    hasFrozen = true
  }
}

function firstNote(owner: Noted | null): Note | undefined {
  const found = owner?.[NOTES]
  // Some stand-ins for requests have something under every name.
  const first = found instanceof Note ? found : undefined
  return hasFrozen ? (frozen.get(owner as object) ?? first) : first
}
