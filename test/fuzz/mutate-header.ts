import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { ALL_ALGORITHMS } from '../helpers/keys.js'
import { fillUp, type Mutation, setMember } from './draft.js'
import { editBytes } from './mutate-bytes.js'
import { escapeName } from './mutate-payload.js'
import { STRANGE_NAMES, STRANGE_VALUES } from './strange-values.js'

// RFC 7515 §4.1, RFC 7516 §4.1, RFC 7797 §3: what they may say, and what is worst about it.
const MEMBERS: readonly (readonly [name: string, value: string])[] = [
  ['crit', '["exp"]'],
  ['crit', '[]'],
  ['crit', '["b64"]'],
  ['crit', '["toString"]'],
  ['crit', '"exp"'],
  ['crit', 'null'],
  ['b64', 'true'],
  ['b64', 'false'],
  ['zip', '"DEF"'],
  ['enc', '"A256GCM"'],
  ['cty', '"JWT"'],
  ['jku', '"https://attacker.example/keys"'],
  ['jwk', '{"kty":"oct","k":"AA"}'],
  ['x5u', '"https://attacker.example/chain"'],
  ['x5c', '["AA=="]'],
  ['x5t', '"AA"'],
  ['x5t#S256', '"AA"'],
  ['p2c', '2147483647'],
  ['apu', '"AA"'],
]

/** Changes of the header that are signed with the right key. */
export const HEADER_MUTATIONS: readonly Mutation[] = [
  mutation('another alg', ({ binding, header }, random) => {
    setMember(header, 'alg', JSON.stringify(random.pick(toAlgorithms(binding.algorithm))))
  }),
  mutation('an alg of any value', ({ header }, random) => {
    setMember(header, 'alg', random.pick([undefined, ...STRANGE_VALUES]))
  }),
  mutation('a member with a meaning', ({ header }, random) => {
    const [name, value] = random.pick(MEMBERS)
    setMember(header, name, value)
  }),
  mutation('a member with a meaning, of any value', ({ header }, random) => {
    setMember(header, random.pick(MEMBERS)[0], random.pick(STRANGE_VALUES))
  }),
  mutation('b64, and crit that says so', ({ header }, random) => {
    // RFC 7797 §6: the one extension that the oracle understands.
    setMember(header, 'b64', random.pick(['true', 'true', 'false', '"false"', 'null']))
    setMember(header, 'crit', random.pick(['["b64"]', '["b64"]', '["b64","b64"]', '["b64","exp"]']))
  }),
  mutation('another typ', ({ header }, random) => {
    const types = ['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'JOSE', 'JWE', 'dpop+jwt', 'logout+jwt', '', 'jwt ']
    const typ = random.pick(types)
    const at = random.pick([0, random.integer(typ.length + 1)])
    const prefix = random.pick(['', '', 'application/', 'Application/', 'text/', 'application/application/'])
    setMember(header, 'typ', JSON.stringify(typ.slice(0, at) + prefix + typ.slice(at)))
  }),
  mutation('a typ of any value', ({ header }, random) => {
    setMember(header, 'typ', random.pick([undefined, ...STRANGE_VALUES]))
  }),
  mutation('a kid of any value', ({ header }, random) => {
    setMember(header, 'kid', random.pick(STRANGE_VALUES))
  }),
  mutation('another kid', ({ binding: { kid }, header, setup }, random) => {
    const kids = [
      ...setup.bindings.map((binding) => binding.kid),
      '',
      'unknown',
      `${kid} `,
      `${kid}\0`,
      kid.slice(1),
      kid.toUpperCase(),
      kid.repeat(20),
      ...[127, 128, 129, 1000].map((length) => 'k'.repeat(length)),
      ...STRANGE_NAMES,
    ]
    setMember(header, 'kid', JSON.stringify(random.pick(kids)))
  }),
  mutation('a member twice', ({ header: { members } }, random) => {
    if (members.length === 0) return
    const { name, value } = random.pick(members)
    const again = {
      name: random.oneIn(2) ? name : escapeName(name),
      value: random.pick([value, value, ...STRANGE_VALUES]),
    }
    members.splice(random.integer(members.length + 1), 0, again)
  }),
  mutation('names that look like a member twice', ({ header }, random) => {
    setMember(
      header,
      'extra',
      random.pick(['{"alg":1,"alg":2}', '["alg","alg"]', '"alg\\":", "alg2":"\\"alg\\":"']),
    )
    setMember(header, 'x', '"alg"')
  }),
  mutation('a member of a strange name', ({ header }, random) => {
    setMember(header, random.pick(STRANGE_NAMES), random.pick(STRANGE_VALUES))
  }),
  mutation('a header that is no object', ({ header }, random) => {
    const other = random.pick(['[]', 'null', 'true', '1', '""', '', '{}', '{'])
    header.toBytes = (text) => Buffer.from(random.oneIn(4) ? `[${text}]` : other)
  }),
  mutation('a deep member', ({ header }, random) => {
    const depth = random.pick([30, 31, 32, 33, 500])
    setMember(header, 'deep', `${'['.repeat(depth)}${']'.repeat(depth)}`)
  }),
  mutation('a long header', ({ header }, random) => {
    // 1536 bytes are 2048 characters.
    fillUp(header, 1536 + random.pick([-300, -2, -1, 0, 1, 2, 300]))
  }),
  mutation('the bytes of the header', ({ header }, random) => {
    header.toBytes = editBytes(random)
  }),
]

function mutation(name: string, apply: Mutation['apply']): Mutation {
  return { name, apply }
}

const OTHER_ALGORITHMS: readonly string[] = [
  ...ALL_ALGORITHMS,
  'none',
  'None',
  'NONE',
  'nOnE',
  ' none',
  'none\0',
  '',
  'ES256K',
  'Ed448',
  'HS1',
  'RS1',
  'A256GCM',
  'dir',
  'ML-DSA-44',
]

function toAlgorithms(algorithm: Algorithm): string[] {
  return [
    ...OTHER_ALGORITHMS,
    algorithm.toLowerCase(),
    algorithm.toUpperCase(),
    `${algorithm} `,
    ` ${algorithm}`,
    `${algorithm}\0`,
    algorithm.replace(/\d+$/, ''),
    `${algorithm}/x`,
    `x${algorithm}`,
  ]
}
