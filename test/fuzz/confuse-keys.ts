import { createSecretKey, type KeyObject } from 'node:crypto'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { type Mutation, setMember, signWith } from './draft.js'
import type { FuzzKey } from './fuzz-keys.js'

const HMACS: readonly Algorithm[] = ['HS256', 'HS384', 'HS512']

/** Good tokens of the wrong key, or of the right key used wrongly. */
export const KEY_MUTATIONS: readonly Mutation[] = [
  {
    name: 'another key of the same kind',
    apply: (draft) => signWith(draft, draft.setup.stranger, draft.setup.bindings[0]?.algorithm),
  },
  {
    name: 'another key of the same kind, in the header',
    apply(draft) {
      // CVE-2018-0114: a token that brings its own key.
      const { stranger, bindings } = draft.setup
      setMember(draft.header, 'jwk', JSON.stringify(stranger.verifying.export({ format: 'jwk' })))
      signWith(draft, stranger, bindings[0]?.algorithm)
    },
  },
  {
    name: 'the key of another binding',
    apply(draft, random) {
      const { algorithm, key } = random.pick(draft.setup.bindings)
      signWith(draft, key, algorithm)
    },
  },
  {
    name: 'another algorithm of the family, by its name',
    apply(draft, random) {
      const { algorithm, key } = draft.binding
      const other = random.pick(toFamily(algorithm))
      setMember(draft.header, 'alg', JSON.stringify(other))
      signWith(draft, key, other)
    },
  },
  {
    name: 'another algorithm of the family, under the name of the first',
    apply(draft, random) {
      const { algorithm, key } = draft.binding
      signWith(draft, key, random.pick(toFamily(algorithm)))
    },
  },
  {
    name: 'the public key as a secret',
    apply(draft, random) {
      // CVE-2015-9235 and its many successors.
      const algorithm = random.pick(HMACS)
      const secret = random.pick(toPublicTexts(draft.binding.key))
      setMember(draft.header, 'alg', JSON.stringify(algorithm))
      if (random.oneIn(2)) setMember(draft.header, 'kid', undefined)
      signWith(draft, toSecret(secret), algorithm)
    },
  },
  {
    name: 'an empty or well-known secret',
    apply(draft, random) {
      const algorithm = random.pick(HMACS)
      setMember(draft.header, 'alg', JSON.stringify(algorithm))
      signWith(draft, toSecret(random.pick(['', '\0', 'secret', 'null', draft.binding.kid])), algorithm)
    },
  },
  {
    name: 'no signature, and an alg that says so',
    apply(draft, random) {
      setMember(draft.header, 'alg', JSON.stringify(random.pick(['none', 'None', 'NONE', ''])))
      if (!random.oneIn(4)) draft.sign = () => Buffer.alloc(0)
    },
  },
]

function toFamily(algorithm: Algorithm): readonly Algorithm[] {
  const families: readonly (readonly Algorithm[])[] = [
    HMACS,
    ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
    ['ES256', 'ES384', 'ES512'],
    ['EdDSA', 'Ed25519'],
  ]
  return families.find((family) => family.includes(algorithm)) ?? []
}

function toPublicTexts({ kind, verifying }: FuzzKey): readonly (string | Buffer)[] {
  if (kind === 'secret') return [verifying.export().toString('base64url'), verifying.export().toString('hex')]
  const pem = String(verifying.export({ format: 'pem', type: 'spki' }))
  const jwk = verifying.export({ format: 'jwk' })
  return [
    pem,
    pem.trim(),
    pem.replaceAll('\n', '\r\n'),
    pem.replaceAll(/-----.*-----|\n/g, ''),
    verifying.export({ format: 'der', type: 'spki' }),
    JSON.stringify(jwk),
    String(jwk['x'] ?? jwk['n']),
    Buffer.from(String(jwk['x'] ?? jwk['n']), 'base64url'),
    ...(kind === 'rsa' ? [String(verifying.export({ format: 'pem', type: 'pkcs1' }))] : []),
  ]
}

function toSecret(text: string | Buffer): FuzzKey {
  const secret: KeyObject = createSecretKey(Buffer.from(text))
  return { kind: 'secret', signing: secret, verifying: secret }
}
