import { createHash, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK } from 'jose'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Algorithm } from '../../packages/tokenlib/src/kit.js'
import { ALL_ALGORITHMS } from '../helpers/keys.js'
import {
  createEcKey,
  createEd25519Key,
  createRsaKey,
  createSecret,
  type FuzzKey,
  toPssKey,
} from './fuzz-keys.js'
import { createRandom } from './random.js'

/** A key with one algorithm that a verifier accepts it for. */
export interface Binding {
  readonly algorithm: Algorithm
  readonly kid: string
  readonly key: FuzzKey
}

/** What verifiers are configured with, as both contestants and the predicates of strictness read it. */
export interface Setup {
  readonly name: string
  /** How often it is chosen, next to the others. */
  readonly weight: number
  readonly bindings: readonly Binding[]
  /** A key of the first binding's kind that is not configured. */
  readonly stranger: FuzzKey
  readonly config: TokenConfigOptions
  readonly issuer: string | null
  readonly audience: readonly string[]
  /** Seconds. */
  readonly leeway: number
  readonly identityClaim: string
  readonly maxLength: number
}

/** Every setup, with the keys of a seed. */
export async function createSetups(seed: number): Promise<Setup[]> {
  const keys = createKeys(seed)
  return Promise.all([...plainSetups(keys), ...secretSetups(keys), ...publicSetups(keys)].map(toSetup))
}

interface Plan {
  readonly name: string
  readonly weight: number
  readonly algorithms: readonly Algorithm[]
  /** The current key, and perhaps a previous one. */
  readonly keys: readonly FuzzKey[]
  readonly stranger: FuzzKey
  /** How a key is put into the configuration; as it is, unless said otherwise. */
  readonly form?: 'pem' | 'pss' | 'pss-sha256' | readonly string[]
  readonly rules?: Partial<Pick<Setup, 'issuer' | 'audience' | 'leeway' | 'identityClaim' | 'maxLength'>>
}

type Kind = FuzzKey['kind']
type Keys = Readonly<Record<Kind, readonly [FuzzKey, FuzzKey, FuzzKey]>>

function createKeys(seed: number): Keys {
  let made = 0
  const three = (create: (random: ReturnType<typeof createRandom>) => FuzzKey) =>
    [0, 1, 2].map(() => create(createRandom(seed, -++made))) as unknown as Keys[Kind]
  return {
    secret: three(createSecret),
    rsa: three(createRsaKey),
    ed25519: three(createEd25519Key),
    'P-256': three((random) => createEcKey(random, 'P-256')),
    'P-384': three((random) => createEcKey(random, 'P-384')),
    'P-521': three((random) => createEcKey(random, 'P-521')),
  }
}

// Weights follow the cost of a signature: a P-521 one takes a thousand times as long as an HMAC.
const WEIGHTS: Readonly<Record<Kind, number>> = {
  secret: 60,
  ed25519: 30,
  'P-256': 60,
  rsa: 6,
  'P-384': 4,
  'P-521': 2,
}

function plainSetups(keys: Keys): Plan[] {
  return ALL_ALGORITHMS.map((algorithm) => {
    const kind = kindOf(algorithm)
    const [key, , stranger] = keys[kind]
    return { name: algorithm, weight: WEIGHTS[kind], algorithms: [algorithm], keys: [key], stranger }
  })
}

function secretSetups({ secret: [current, previous, stranger] }: Keys): Plan[] {
  const base = { weight: 30, algorithms: ['HS256'], keys: [current], stranger } as const
  const rotated = [current, previous]
  return [
    { ...base, name: 'HS256, a previous secret', keys: rotated },
    {
      ...base,
      name: 'HS256, HS384 and HS512, a previous secret',
      algorithms: ['HS256', 'HS384', 'HS512'],
      keys: rotated,
    },
    {
      ...base,
      name: 'HS512, secrets with names',
      algorithms: ['HS512'],
      keys: rotated,
      // As long as a name may be, and of any characters.
      form: ['k'.repeat(128), 'key/of "2025"'],
    },
    {
      ...base,
      name: 'HS256, issuer, audience and leeway',
      weight: 60,
      rules: { issuer: 'https://issuer.example', audience: ['api', 'web'], leeway: 30 },
    },
    { ...base, name: 'HS256, an identity claim of its own', weight: 60, rules: { identityClaim: 'user.id' } },
    { ...base, name: 'HS384, a short maximum', algorithms: ['HS384'], rules: { maxLength: 500 } },
  ]
}

function publicSetups(keys: Keys): Plan[] {
  const { rsa, ed25519, 'P-256': p256 } = keys
  const pss = { weight: 3, keys: [rsa[0]], stranger: rsa[2] }
  return [
    { ...pss, name: 'PS256, an RSA-PSS key', algorithms: ['PS256'], form: 'pss' },
    { ...pss, name: 'PS256, an RSA-PSS key for it', algorithms: ['PS256'], form: 'pss-sha256' },
    { ...pss, name: 'PS384, an RSA-PSS key', algorithms: ['PS384'], form: 'pss' },
    { ...pss, name: 'PS512, an RSA-PSS key', algorithms: ['PS512'], form: 'pss' },
    {
      name: 'RS256 and PS256, a previous key',
      weight: 8,
      algorithms: ['RS256', 'PS256'],
      keys: [rsa[0], rsa[1]],
      stranger: rsa[2],
      form: 'pem',
    },
    {
      name: 'ES256, keys with names',
      weight: 40,
      algorithms: ['ES256'],
      keys: [p256[0], p256[1]],
      stranger: p256[2],
      form: ['a', 'b'],
      rules: { issuer: 'i', leeway: 1 },
    },
    {
      name: 'Ed25519 and EdDSA, a previous key',
      weight: 20,
      algorithms: ['Ed25519', 'EdDSA'],
      keys: [ed25519[0], ed25519[1]],
      stranger: ed25519[2],
      form: 'pem',
      rules: { audience: ['api'] },
    },
    {
      name: 'EdDSA, a previous key of RS256',
      weight: 10,
      algorithms: ['EdDSA', 'RS256'],
      keys: [ed25519[0], rsa[1]],
      stranger: ed25519[2],
    },
  ]
}

async function toSetup({ name, weight, algorithms, keys, stranger, form, rules = {} }: Plan): Promise<Setup> {
  const materials = keys.map((key, at) => toMaterial(key, at, form))
  const kids = await Promise.all(keys.map((key, at) => readKid(key, at, form)))
  const bindings = keys.flatMap((key, at) =>
    algorithms
      .filter((algorithm) => kindOf(algorithm) === key.kind)
      .map((algorithm) => ({ algorithm, key, kid: kids[at] as string })),
  )
  const { issuer = null, audience = [], leeway = 0, identityClaim = 'sub', maxLength = 8192 } = rules
  const isSecret = keys[0]?.kind === 'secret'
  const config = {
    JWT_ALGORITHM: algorithms[0],
    JWT_DECODE_ALGORITHMS: algorithms,
    [isSecret ? 'JWT_SECRET_KEY' : 'JWT_PUBLIC_KEY']: materials[0],
    [isSecret ? 'JWT_PREVIOUS_SECRET_KEY' : 'JWT_PREVIOUS_PUBLIC_KEY']: materials[1] ?? null,
    JWT_DECODE_ISSUER: issuer,
    JWT_DECODE_AUDIENCE: audience.length === 0 ? null : audience,
    JWT_DECODE_LEEWAY: leeway,
    JWT_IDENTITY_CLAIM: identityClaim,
    JWT_MAX_TOKEN_LENGTH: maxLength,
  } as TokenConfigOptions
  return { name, weight, bindings, stranger, config, issuer, audience, leeway, identityClaim, maxLength }
}

function toMaterial({ verifying }: FuzzKey, at: number, form: Plan['form']): unknown {
  if (form === undefined) return verifying
  if (form === 'pem') return verifying.export({ format: 'pem', type: 'spki' })
  if (form === 'pss') return toPssKey(verifying, 'any')
  if (form === 'pss-sha256') return toPssKey(verifying, 'sha256')
  return { ...verifying.export({ format: 'jwk' }), kid: form[at] }
}

// docs/keys.md, "Key ids".
async function readKid({ kind, verifying }: FuzzKey, at: number, form: Plan['form']): Promise<string> {
  if (form === 'pss' || form === 'pss-sha256')
    return hashOf(toPssKey(verifying, form === 'pss' ? 'any' : 'sha256'))
  if (Array.isArray(form)) return String(form[at])
  if (kind !== 'secret') return calculateJwkThumbprint(await exportJWK(verifying))
  // How a secret is named is nobody's business but the library's.
  const manager = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: verifying }) })
  return String(manager.keys.current)
}

function hashOf(key: KeyObject): string {
  return createHash('sha256')
    .update(key.export({ format: 'der', type: 'spki' }))
    .digest('base64url')
}

function kindOf(algorithm: Algorithm): Kind {
  if (algorithm.startsWith('HS')) return 'secret'
  if (algorithm.startsWith('RS') || algorithm.startsWith('PS')) return 'rsa'
  const curve = ({ ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' } as const)[algorithm as 'ES256']
  return curve ?? 'ed25519'
}
