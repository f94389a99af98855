import { editBytes } from './mutate-bytes.js'
import { signatureSize } from './create-signature.js'
import { type Draft, fillUp, type Mutation, NOW, setMember, toSegment, toText } from './draft.js'
import { readJsonShape } from './json-shape.js'
import type { Random } from './random.js'
import { STRANGE_NAMES, STRANGE_VALUES, TIMES } from './strange-values.js'

const CLAIMS = ['sub', 'type', 'jti', 'iat', 'nbf', 'exp', 'iss', 'aud'] as const
const OWN_CLAIMS = ['fresh', 'csrf', 'scopes', 'sid', 'gen'] as const
const TIME_CLAIMS = ['exp', 'nbf', 'iat'] as const

/** Changes of the claims that are signed with the right key: the signature holds, the claims may not. */
export const PAYLOAD_MUTATIONS: readonly Mutation[] = [
  mutation('a claim of any value', (draft, random) => {
    const name = random.pick([...CLAIMS, ...OWN_CLAIMS, draft.setup.identityClaim])
    setMember(draft.payload, name, random.pick(STRANGE_VALUES))
  }),
  mutation('a claim of ours of any value', ({ payload }, random) => {
    setMember(payload, random.pick(OWN_CLAIMS), random.pick(STRANGE_VALUES))
  }),
  mutation('an identity of any value', ({ payload, setup }, random) => {
    setMember(payload, random.pick(['sub', setup.identityClaim]), random.pick(STRANGE_VALUES))
  }),
  mutation('a time', setTime),
  mutation('a time within this second', ({ payload, setup }, random) => {
    const fraction = random.pick([0.25, 0.5, 0.75])
    const [name, sign] = random.pick([
      ['exp', -1],
      ['nbf', 1],
      ['iat', 1],
    ] as const)
    setMember(payload, name, String(NOW + sign * setup.leeway + fraction))
  }),
  mutation('two times', (draft, random) => {
    setTime(draft, random)
    setTime(draft, random)
  }),
  mutation('a claim removed', (draft, random) => {
    const { members } = draft.payload
    if (members.length > 0) members.splice(random.integer(members.length), 1)
  }),
  mutation('another issuer or audience', (draft, random) => {
    const { issuer, audience } = draft.setup
    setMember(draft.payload, 'iss', JSON.stringify(random.pick(toNearlyEqual(issuer ?? 'issuer'))))
    setMember(draft.payload, 'aud', JSON.stringify(random.pick(toAudiences(audience))))
  }),
  mutation('a claim twice', (draft, random) => {
    const { members } = draft.payload
    if (members.length === 0) return
    const { name } = random.pick(members)
    const again = {
      name: random.oneIn(2) ? name : escapeName(name),
      value: random.pick([...STRANGE_VALUES, ...TIMES]),
    }
    members.splice(random.integer(members.length + 1), 0, again)
  }),
  mutation('a claim of a strange name', (draft, random) => {
    setMember(draft.payload, random.pick(STRANGE_NAMES), random.pick(STRANGE_VALUES))
  }),
  mutation('claims that are no object', (draft, random) => {
    const texts = ['[]', '[{}]', 'null', 'true', '1', '"{}"', '', ' ', '{}', '{', 'undefined']
    const other = random.pick(texts)
    draft.payload.toBytes = (text) => Buffer.from(random.oneIn(4) ? `[${text}]` : other)
  }),
  mutation('a deep claim', (draft, random) => {
    // The claims set is the first level.
    const depth = random.pick([29, 30, 31, 32, 33, 100, 1000])
    const [open, close] = random.pick([
      ['[', ']'],
      ['{"a":', '}'],
    ] as const)
    setMember(
      draft.payload,
      'deep',
      `${open.repeat(depth - 1)}${open}${open === '[' ? '' : '1'}${close.repeat(depth)}`,
    )
  }),
  mutation('many claims', ({ payload }, random) => {
    // One more separator for the first of them, where they are a list.
    const present = readJsonShape(toText(payload)).separators
    const separators = Math.max(1, 1024 - present + random.pick([-2, -1, 0, 1, 2, 500]))
    if (random.oneIn(2)) setMember(payload, 'many', `[${Array(separators).fill('1').join(',')}]`)
    else {
      const many = Array.from({ length: separators }, (_, at) => ({ name: `"${at}"`, value: '1' }))
      payload.members.push(...many)
    }
  }),
  mutation('long claims', (draft, random) => {
    const others = toSegment(draft.header).length + 2 + Math.ceil((signatureSize(draft.binding) * 4) / 3)
    const length = draft.setup.maxLength - others + random.pick([-100, -2, -1, 0, 1, 2, 3, 100])
    fillUp(draft.payload, Math.floor((length * 3) / 4))
  }),
  mutation('brackets and commas in a text', (draft, random) => {
    const text = random.pick(['{', '[', ',', '\\"[', '"}'])
    setMember(draft.payload, 'text', JSON.stringify(text.repeat(random.pick([40, 1100]))))
  }),
  mutation('the bytes of the claims', (draft, random) => {
    draft.payload.toBytes = editBytes(random)
  }),
]

function mutation(name: string, apply: Mutation['apply']): Mutation {
  return { name, apply }
}

function setTime(draft: Draft, random: Random): void {
  setMember(draft.payload, random.pick(TIME_CLAIMS), random.pick(TIMES))
}

function toNearlyEqual(text: string): unknown[] {
  return [
    text,
    `${text} `,
    `${text}\0`,
    text.toUpperCase(),
    text.slice(1),
    `${text}/`,
    [text],
    [[text]],
    { [text]: 1 },
  ]
}

function toAudiences(audience: readonly string[]): unknown[] {
  const [first = 'api', ...others] = audience
  return [
    first,
    ...others,
    audience,
    [],
    ['other'],
    ['other', first],
    [first, 1],
    [[first]],
    [null],
    { 0: first, length: 1 },
    ...toNearlyEqual(first),
  ]
}

/** The same name, its first character escaped (RFC 8259 §7). */
export function escapeName(quoted: string): string {
  const code = quoted.charCodeAt(1)
  // An empty name has nothing to escape, and an escape is left as it is.
  if (quoted.length < 3 || code === 0x5c) return quoted
  return `"\\u${code.toString(16).padStart(4, '0')}${quoted.slice(2)}`
}
