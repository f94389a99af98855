import type { Draft, Mutation } from './draft.js'
import type { Random } from './random.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

type Spelling = (segment: string, random: Random) => string

/** Other spellings of the same bytes; a lax decoder takes each of them. */
const SPELLINGS: Readonly<Record<string, Spelling>> = {
  padding: (segment, random) => segment + random.pick(['=', '==', '='.repeat(-segment.length & 3), '===']),
  'white space': (segment, random) => {
    const at = random.pick([0, segment.length, random.integer(segment.length + 1)])
    return (
      segment.slice(0, at) +
      random.pick([' ', '\n', '\r\n', '\t', '\f', '\v', '\u00a0', '\0']) +
      segment.slice(at)
    )
  },
  'unused bits': (segment, random) => {
    // RFC 4648 §3.5: four bits of the last character count for nothing, or two, or none.
    const unused = [0, 0, 4, 2][segment.length % 4] ?? 0
    const last = ALPHABET.indexOf(segment.at(-1) ?? '')
    return unused === 0
      ? segment
      : segment.slice(0, -1) + ALPHABET[last ^ (1 + random.integer(2 ** unused - 1))]
  },
  'the other alphabet': (segment) => segment.replaceAll('-', '+').replaceAll('_', '/'),
  'strange characters': (segment, random) => {
    const at = random.integer(segment.length + 1)
    return (
      segment.slice(0, at) +
      random.pick(['!', '~', '%3D', '*', 'é', '\u{1f511}', '\\', '"']) +
      segment.slice(at)
    )
  },
  'a fifth character': (segment, random) => segment + random.pick([...ALPHABET]),
}

const each = (place: string, apply: (draft: Draft, random: Random, spelling: Spelling) => void): Mutation[] =>
  Object.entries(SPELLINGS).map(([name, spelling]) => ({
    name: `${name} in the ${place}`,
    apply: (draft, random) => apply(draft, random, spelling),
  }))

/** Other spellings of the header and the claims, signed as they are. */
export const SIGNED_SPELLINGS: readonly Mutation[] = [
  ...each('header', ({ header }, random, spelling) => {
    header.spell = (segment) => spelling(segment, random)
  }),
  ...each('claims', ({ payload }, random, spelling) => {
    payload.spell = (segment) => spelling(segment, random)
  }),
]

/** Other spellings of the signature: anyone can make them. */
export const SIGNATURE_SPELLINGS: readonly Mutation[] = each('signature', (draft, random, spelling) => {
  draft.editToken = (token) => {
    const [header = '', payload = '', signature = ''] = token.split('.')
    return `${header}.${payload}.${spelling(signature, random)}`
  }
})
