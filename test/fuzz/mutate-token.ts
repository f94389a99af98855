import type { Mutation } from './draft.js'
import type { Random } from './random.js'

type Edit = (token: string, random: Random, other: () => string) => string

const CHARACTERS = [...'ABCZabcz019-_.=+/ "{}\0\n\u007fé\u{1f511}\ud800']

const splice = (text: string, at: number, length: number, added = ''): string =>
  text.slice(0, at) + added + text.slice(at + length)

const EDITS: Readonly<Record<string, Edit>> = {
  'a character changed': (token, random) =>
    splice(token, random.integer(token.length), 1, random.pick(CHARACTERS)),
  'a bit of a character changed': (token, random) => {
    const at = random.integer(token.length)
    return splice(token, at, 1, String.fromCharCode(token.charCodeAt(at) ^ (1 << random.integer(8))))
  },
  'characters put in': (token, random) =>
    splice(token, random.integer(token.length + 1), 0, random.pick(CHARACTERS).repeat(1 + random.integer(3))),
  'characters taken out': (token, random) =>
    splice(token, random.integer(token.length), 1 + random.integer(8)),
  'a part twice': (token, random) => {
    const at = random.integer(token.length)
    return splice(token, at, 0, token.slice(at, at + 1 + random.integer(60)))
  },
  'two parts exchanged': (token, random) => {
    const at = random.integer(token.length)
    const length = 1 + random.integer(20)
    return splice(
      token,
      at,
      2 * length,
      token.slice(at + length, at + 2 * length) + token.slice(at, at + length),
    )
  },
  'cut off': (token, random) => token.slice(0, random.integer(token.length)),
  'segments in another order': (token, random) => {
    const [header = '', payload = '', signature = ''] = token.split('.')
    const orders = [
      [payload, header, signature],
      [header, signature, payload],
      [header, header, signature],
      [header, payload, payload],
      [header, payload],
      [header, payload, ''],
      [header, '', signature],
      ['', payload, signature],
      [header, payload, signature, ''],
      [header, payload, signature, signature],
      ['', header, payload, signature],
      [header, '', '', payload, signature],
    ]
    return random.pick(orders).join('.')
  },
  'segments of two tokens': (token, random, other) => {
    const segments = [token.split('.'), other().split('.')] as const
    const order = random.pick(['001', '010', '100', '011', '101', '110'])
    return [...order].map((from, at) => segments[from as '0' & keyof typeof segments]?.[at] ?? '').join('.')
  },
  'text around it': (token, random) => {
    const [before, after] = random.pick([
      [' ', ''],
      ['', ' '],
      ['', '\n'],
      ['Bearer ', ''],
      ['"', '"'],
      ['\ufeff', ''],
      ['', '\0'],
      ['', '.'],
      ['.', ''],
      [`${token}.`, ''],
      [`${token},`, ''],
    ] as const)
    return before + token + after
  },
  'another serialization': (token, random) => {
    // RFC 7515 §7.2: the JSON forms are not compact ones.
    const [header = '', payload = '', signature = ''] = token.split('.')
    const flat = { payload, protected: header, signature }
    return JSON.stringify(random.oneIn(2) ? flat : { payload, signatures: [flat] })
  },
  'another case': (token, random) => (random.oneIn(2) ? token.toLowerCase() : token.toUpperCase()),
  'percent encoding': (token) => token.replaceAll('.', '%2E'),
  'any text': (_, random) =>
    random.bytes(random.integer(80)).toString(random.pick(['latin1', 'base64url', 'utf8'])),
}

/** Changes of a whole token after it was signed; `draft.other` is a good token of the same setup. */
export const TOKEN_MUTATIONS: readonly Mutation[] = Object.entries(EDITS).map(([name, edit]) => ({
  name,
  apply(draft, random) {
    const before = draft.editToken
    draft.editToken = (token) => edit(before(token), random, draft.other)
  },
}))
