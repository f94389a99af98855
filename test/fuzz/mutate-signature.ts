import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { CURVES, ED25519_ORDER, fromBytes, toBytes } from './arithmetic.js'
import { createSignature } from './create-signature.js'
import type { Draft, Mutation } from './draft.js'

/** Changes of the signature of an otherwise good token. */
export const SIGNATURE_MUTATIONS: readonly Mutation[] = [
  edit('a shorter signature', (bytes, random) =>
    bytes.subarray(0, random.pick([0, 1, bytes.length / 2, bytes.length - 1])),
  ),
  edit('a signature without its start', (bytes) => bytes.subarray(1)),
  edit('a longer signature', (bytes, random) => Buffer.concat([bytes, random.bytes(1 + random.integer(4))])),
  edit('a zero before the signature', (bytes) => Buffer.concat([Buffer.of(0), bytes])),
  edit('a signature twice', (bytes) => Buffer.concat([bytes, bytes])),
  edit('a signature of zeros', (bytes) => Buffer.alloc(bytes.length)),
  edit('a signature of ones', (bytes) => Buffer.alloc(bytes.length, 0xff)),
  edit('any bytes as signature', (bytes, random) => random.bytes(bytes.length)),
  edit('a signature backwards', (bytes) => Buffer.from(bytes.toReversed())),
  edit('one bit of the signature', (bytes, random) => {
    const changed = Buffer.from(bytes)
    const at = random.integer(bytes.length)
    changed[at] = (changed[at] as number) ^ (1 << random.integer(8))
    return changed
  }),
  edit('halves of the signature exchanged', (bytes) => {
    const half = bytes.length / 2
    return Buffer.concat([bytes.subarray(half), bytes.subarray(0, half)])
  }),
  { name: 'another form of the same signature', apply: toOtherForm },
  { name: 'the other s of the same signature', apply: toHighS },
  { name: 'a hash or salt of another size', apply: signOtherwise },
]

function edit(
  name: string,
  change: (bytes: Buffer, random: Parameters<Mutation['apply']>[1]) => Buffer,
): Mutation {
  return {
    name,
    apply(draft, random) {
      draft.editSignature = (signature) => change(signature, random)
    },
  }
}

// What is worth the same in the arithmetic, and may not be in a token.
function toOtherForm(draft: Draft, random: Parameters<Mutation['apply']>[1]): void {
  const { key } = draft.binding
  draft.editSignature = (signature) => {
    switch (key.kind) {
      case 'secret':
        // RFC 2104 §5 allows a truncated MAC, RFC 7518 §3.2 does not.
        return signature.subarray(0, 16)
      case 'rsa': {
        const n = fromBytes(Buffer.from(String(key.verifying.export({ format: 'jwk' })['n']), 'base64url'))
        return toBytes(fromBytes(signature) + n, signature.length)
      }
      case 'ed25519': {
        // RFC 8032 §5.1.7: S is little-endian, and must be below the order.
        const s = fromBytes(signature.subarray(32).toReversed()) + ED25519_ORDER
        return Buffer.concat([signature.subarray(0, 32), toBytes(s, 32).toReversed()])
      }
      case 'P-256':
      case 'P-384':
      case 'P-521': {
        const { order, size } = CURVES[key.kind]
        const [r, s] = [fromBytes(signature.subarray(0, size)), fromBytes(signature.subarray(size))]
        const join = (one: bigint, other: bigint): Buffer =>
          Buffer.concat([toBytes(one, size).subarray(-size), toBytes(other, size).subarray(-size)])
        return random.pick([
          () => join(r, s + order),
          () => join(r + order, s),
          () => join(order, s),
          () => join(r, order),
          () => join(0n, s),
          () => join(r, 0n),
          () => toDer(r, s),
          () => toDer(r, order - s),
        ])()
      }
    }
  }
}

// For every (r, s) there is (r, n - s). Of the other kinds of key, a good signature.
function toHighS(draft: Draft): void {
  const { kind } = draft.binding.key
  if (kind === 'secret' || kind === 'rsa' || kind === 'ed25519') return
  const { order, size } = CURVES[kind]
  draft.editSignature = (signature) =>
    Buffer.concat([signature.subarray(0, size), toBytes(order - fromBytes(signature.subarray(size)), size)])
}

function signOtherwise(draft: Draft, random: Parameters<Mutation['apply']>[1]): void {
  const { algorithm, key } = draft.binding
  const size = random.pick(['256', '384', '512'])
  const salt = random.pick([0, 20, 32, 48, 64])
  const family = key.kind === 'rsa' ? random.pick(['RS', 'PS']) : algorithm.slice(0, 2)
  draft.sign = (input) =>
    createSignature(key.kind === 'ed25519' ? algorithm : (`${family}${size}` as Algorithm), key, input, salt)
}

// SEQUENCE of two INTEGERs, the form that most of the world uses for ECDSA.
function toDer(r: bigint, s: bigint): Buffer {
  const block = (tag: number, content: Buffer): Buffer =>
    Buffer.concat([
      Buffer.from(content.length < 128 ? [tag, content.length] : [tag, 0x81, content.length]),
      content,
    ])
  const integer = (value: bigint): Buffer => {
    const bytes = toBytes(value)
    return block(0x02, (bytes[0] as number) < 128 ? bytes : Buffer.concat([Buffer.of(0), bytes]))
  }
  return block(0x30, Buffer.concat([integer(r), integer(s)]))
}
