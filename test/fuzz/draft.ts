import { createSignature } from './create-signature.js'
import type { FuzzKey } from './fuzz-keys.js'
import type { Random } from './random.js'
import type { Binding, Setup } from './setups.js'

/** A member of a JSON object as text: name and value as they will stand there, however wrong. */
export interface Member {
  readonly name: string
  readonly value: string
}

/** One of the two JSON documents of a token, before it is signed. */
export interface Part {
  members: Member[]
  /** The bytes of the document, from its text. */
  toBytes: (text: string) => Buffer
  /** The segment that is signed, from its canonical spelling. */
  spell: (segment: string) => string
}

/** A token to be: a good one, until a mutation changes something. */
export interface Draft {
  readonly setup: Setup
  readonly binding: Binding
  readonly header: Part
  readonly payload: Part
  /** Signs the signing input. */
  sign: (input: string) => Buffer
  editSignature: (signature: Buffer) => Buffer
  /** The last step, after signing. */
  editToken: (token: string) => string
  /** A good token of the same setup. */
  readonly other: () => string
}

/** One way to change a draft; the name is for reports. */
export interface Mutation {
  readonly name: string
  apply(draft: Draft, random: Random): void
}

/** 2026-01-01T00:00:00Z, in epoch seconds: when every case takes place, or near it. */
export const NOW = 1_767_225_600

/** A good token to be, of any key of a setup. */
export function createDraft(setup: Setup, random: Random, other: Draft['other']): Draft {
  const binding = random.pick(setup.bindings)
  return {
    setup,
    binding,
    header: toPart(createHeader(binding, random)),
    payload: toPart(createPayload(setup, random)),
    sign: (input) => createSignature(binding.algorithm, binding.key, input),
    editSignature: (signature) => signature,
    editToken: (token) => token,
    other,
  }
}

/** The token as it is before `editToken`, and after. */
export function toTokens(draft: Draft): { readonly signed: string; readonly token: string } {
  const input = `${toSegment(draft.header)}.${toSegment(draft.payload)}`
  const signature = draft.editSignature(draft.sign(input))
  const signed = `${input}.${signature.toString('base64url')}`
  return { signed, token: draft.editToken(signed) }
}

/** Signs with another key, by the algorithm that the header names or another. */
export function signWith(draft: Draft, key: FuzzKey, algorithm = draft.binding.algorithm): void {
  draft.sign = (input) => createSignature(algorithm, key, input)
}

/** Sets a member, in place or at the end; a value of `undefined` removes it. */
export function setMember(part: Part, name: string, value: string | undefined): void {
  const quoted = JSON.stringify(name)
  const at = part.members.findIndex((member) => member.name === quoted)
  const added = value === undefined ? [] : [{ name: quoted, value }]
  part.members.splice(at === -1 ? part.members.length : at, at === -1 ? 0 : 1, ...added)
}

/** The JSON text of a part. */
export function toText({ members }: Part): string {
  return `{${members.map(({ name, value }) => `${name}:${value}`).join(',')}}`
}

/** The segment of a part, as it is signed. */
export function toSegment(part: Part): string {
  return part.spell(part.toBytes(toText(part)).toString('base64url'))
}

/** Adds a member of such a length that the text has a number of bytes, if it has fewer. */
export function fillUp(part: Part, bytes: number): void {
  const missing = bytes - Buffer.byteLength(toText(part)) - ',"fill":""'.length
  setMember(part, 'fill', JSON.stringify('x'.repeat(Math.max(0, missing))))
}

function toPart(values: Readonly<Record<string, unknown>>): Part {
  return {
    members: Object.entries(values).map(([name, value]) => ({
      name: JSON.stringify(name),
      value: JSON.stringify(value),
    })),
    toBytes: (text) => Buffer.from(text),
    spell: (segment) => segment,
  }
}

function createHeader({ algorithm, kid }: Binding, random: Random): Record<string, unknown> {
  return {
    alg: algorithm,
    ...(!random.oneIn(4) && { typ: 'JWT' }),
    ...(!random.oneIn(3) && { kid }),
    ...(random.oneIn(8) && { x5t: 'abc', 'urn:example:extra': [1] }),
  }
}

function createPayload(setup: Setup, random: Random): Record<string, unknown> {
  const { audience, identityClaim, issuer } = setup
  const subject = random.pick(['ada', 'é', '0', '\u{1f511}', ' ', 'constructor'])
  return {
    [identityClaim]: subject,
    type: random.pick(['access', 'refresh']),
    ...(!random.oneIn(4) && { jti: random.bytes(16).toString('base64url') }),
    ...(!random.oneIn(4) && { iat: NOW - random.pick([0, 1, 60]) }),
    ...(!random.oneIn(4) && { nbf: NOW - random.pick([0, 1, 60]) }),
    ...(!random.oneIn(8) && { exp: NOW + random.pick([1, 2, 60, 3600]) }),
    ...(issuer !== null && { iss: issuer }),
    ...(audience.length > 0 && { aud: random.pick([audience[0], audience, [...audience, 'other']]) }),
    ...(random.oneIn(6) && { fresh: random.pick([true, false, NOW + 5]) }),
    ...(random.oneIn(6) && { scopes: random.pick([['a', 'b:c'], 'a  b:c', '', []]) }),
    ...(random.oneIn(6) && { csrf: random.bytes(16).toString('base64url') }),
    ...(random.oneIn(6) && { sid: random.bytes(16).toString('base64url'), gen: random.integer(5) }),
    ...(random.oneIn(3) && { age: 36, list: [1, { deep: [null, 'x'] }], 'https://a.example/b': true }),
  }
}
