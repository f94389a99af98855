import { ConfigurationError } from '../errors.js'
import { assertOptions, type OptionNames } from '../options.js'
import { ALGORITHMS, type BoundKey, isHmac } from './algorithms.js'
import { importPrivateKey, importPublicKey, readKeyMismatch, readPublicPart } from './asymmetric.js'
import { createExternalSigner, type SigningKey, type SignFunction } from './external-signer.js'
import type { Algorithm, KeyMaterial, NodeKey, SecretMaterial, WebCryptoKey } from './jose.js'
import { assertJwkUse, MAX_KID_LENGTH, parseJwkText, toKid } from './jose.js'
import { bindKey, isKeyPair } from './key-ring.js'
import { importSecret } from './secret.js'
import {
  assertWebCryptoKey,
  createWebCryptoSigner,
  fromWebCryptoKey,
  isWebCryptoKey,
} from './external-signer.js'

/** One key of the option `keys`: a `secret`, a `privateKey`, a `publicKey` that only verifies, or a `publicKey` with `sign`. */
export interface OwnKey {
  /** Default: the `kid` of its JWK, or else one derived from the key. */
  readonly kid?: string | undefined
  readonly algorithm: Algorithm
  readonly secret?: SecretMaterial | undefined
  /** A `CryptoKey` that cannot be extracted signs asynchronously, and needs the `publicKey` as well. */
  readonly privateKey?: KeyMaterial | WebCryptoKey | undefined
  /** Decrypts a `privateKey` in encrypted PEM. */
  readonly passphrase?: string | undefined
  readonly publicKey?: KeyMaterial | WebCryptoKey | undefined
  /** Signs with the private key of `publicKey`, wherever that is. */
  readonly sign?: SignFunction | undefined
  /** Signs new tokens from this moment on. It verifies tokens from the beginning. Default: at once. */
  readonly notBefore?: Date | undefined
  /** Neither signs nor verifies from this moment on. Default: never. */
  readonly retireAt?: Date | undefined
}

const KEY_OPTIONS: OptionNames<OwnKey> = {
  kid: true,
  algorithm: true,
  secret: true,
  privateKey: true,
  passphrase: true,
  publicKey: true,
  sign: true,
  notBefore: true,
  retireAt: true,
}

/** How keys are imported. */
export interface ImportRules {
  readonly allowWeakSecret: boolean
  readonly signTimeoutMs: number
}

/** An imported key with its moments in epoch milliseconds; infinite where it has none. */
export interface ScheduledKey {
  readonly verifying: BoundKey
  /** `null` for a key that only verifies. */
  readonly signing: SigningKey | null
  readonly notBefore: number
  readonly retireAt: number
}

/** Imports one key of a list; `field` names it in errors. `TypeError` or `ConfigurationError` for a bad one. */
export function importOwnKey(field: string, given: OwnKey, rules: ImportRules): ScheduledKey {
  assertOptions(field, given, KEY_OPTIONS)
  const { algorithm, notBefore, retireAt } = given
  if (typeof algorithm !== 'string' || !Object.hasOwn(ALGORITHMS, algorithm)) {
    throw new ConfigurationError(`${field}.algorithm must be one of ${Object.keys(ALGORITHMS).join(', ')}`)
  }
  const times = {
    notBefore: parseMoment(`${field}.notBefore`, notBefore, Number.NEGATIVE_INFINITY),
    retireAt: parseMoment(`${field}.retireAt`, retireAt, Number.POSITIVE_INFINITY),
  }
  if (times.retireAt <= times.notBefore) {
    throw new ConfigurationError(`${field}.retireAt must be later than its notBefore`)
  }
  const imported = isHmac(algorithm)
    ? importSecretKey(field, given, rules)
    : importPublic(field, given, rules)
  return { ...imported, ...times }
}

function parseMoment(field: string, moment: Date | undefined, otherwise: number): number {
  if (moment === undefined) return otherwise
  if (!(moment instanceof Date) || Number.isNaN(moment.getTime())) {
    throw new ConfigurationError(`${field} must be a valid Date`)
  }
  return moment.getTime()
}

type ImportedKey = Pick<ScheduledKey, 'verifying' | 'signing'>

function importSecretKey(field: string, given: OwnKey, rules: ImportRules): ImportedKey {
  const { algorithm } = given
  assertAbsent(field, given, ['privateKey', 'passphrase', 'publicKey', 'sign'], `${algorithm} needs a secret`)
  const material = parseJwkText(given.secret ?? null)
  if (material === null) throw new ConfigurationError(`${field}: ${algorithm} needs a secret`)
  assertJwkUse(`${field}.secret`, material, algorithm, 'sign')
  const key = importSecret(`${field}.secret`, material, algorithm, rules.allowWeakSecret)
  const verifying = bindKey(algorithm, key, parseKid(field, given, material, key))
  return { verifying, signing: { ...verifying, external: null } }
}

function importPublic(field: string, given: OwnKey, rules: ImportRules): ImportedKey {
  const { algorithm, sign } = given
  assertAbsent(field, given, ['secret'], `${algorithm} needs a key pair`)
  if (sign !== undefined && typeof sign !== 'function') {
    throw new ConfigurationError(`${field}.sign must be a function`)
  }
  if (given.privateKey === undefined) {
    assertAbsent(field, given, ['passphrase'], 'it is for a privateKey')
  } else {
    assertAbsent(field, given, ['sign'], 'a key signs with its privateKey or with sign')
  }
  const current = importHalf(field, given, 'publicKey')
  if (isWebCryptoKey(given.privateKey) && !given.privateKey.extractable) {
    assertWebCryptoKey(`${field}.privateKey`, given.privateKey, 'private', algorithm)
    if (current === null) {
      throw new ConfigurationError(
        `${field}.privateKey is a CryptoKey that cannot be extracted: pass its publicKey as well`,
      )
    }
    return bindExternal(field, given, current, createWebCryptoSigner(given.privateKey, algorithm), rules)
  }
  const signer = importHalf(field, given, 'privateKey')
  if (signer !== null) return bindPair(field, given, signer, current)
  if (current === null) {
    throw new ConfigurationError(`${field} needs a privateKey, a publicKey, or a publicKey with sign`)
  }
  if (sign !== undefined) return bindExternal(field, given, current, sign, rules)
  return { verifying: bindPublic(field, given, current), signing: null }
}

interface ImportedHalf {
  readonly material: KeyMaterial
  readonly key: NodeKey
}

function importHalf(field: string, given: OwnKey, name: 'privateKey' | 'publicKey'): ImportedHalf | null {
  const [path, material] = [`${field}.${name}`, given[name]]
  if (material === undefined) return null
  const isPrivate = name === 'privateKey'
  if (isWebCryptoKey(material)) {
    assertWebCryptoKey(path, material, isPrivate ? 'private' : 'public', given.algorithm)
    assertAbsent(field, given, ['passphrase'], 'a CryptoKey is not encrypted')
  }
  const source = isWebCryptoKey(material) ? fromWebCryptoKey(path, material) : parseJwkText(material)
  const passphrase = { field: `${field}.passphrase`, text: parsePassphrase(field, given) }
  const key = isPrivate ? importPrivateKey(path, source, passphrase) : importPublicKey(path, source)
  assertJwkUse(path, source, given.algorithm, isPrivate ? 'sign' : 'verify')
  return { material: source, key }
}

function parsePassphrase(field: string, { passphrase }: OwnKey): string | null {
  if (passphrase === undefined) return null
  if (typeof passphrase === 'string' && passphrase !== '') return passphrase
  throw new ConfigurationError(`${field}.passphrase must be a non-empty string`)
}

function bindPair(
  field: string,
  given: OwnKey,
  { material, key }: ImportedHalf,
  publicHalf: ImportedHalf | null,
): ImportedKey {
  const derived = readPublicPart(`${field}.privateKey`, material, key)
  if (publicHalf !== null && !derived.equals(publicHalf.key)) {
    throw new ConfigurationError(`${field}.publicKey does not belong to its privateKey`)
  }
  const verifying = bindPublic(field, given, publicHalf ?? { material, key: derived })
  const signing = { ...verifying, key, external: null }
  if (!isKeyPair(signing, verifying)) {
    throw new ConfigurationError(
      `${field}.privateKey has a public part that does not belong to its private part`,
    )
  }
  return { verifying, signing }
}

function bindExternal(
  field: string,
  given: OwnKey,
  publicHalf: ImportedHalf,
  sign: SignFunction,
  { signTimeoutMs }: ImportRules,
): ImportedKey {
  const verifying = bindPublic(field, given, publicHalf)
  return {
    verifying,
    signing: { ...verifying, external: createExternalSigner(sign, verifying, signTimeoutMs) },
  }
}

function bindPublic(field: string, given: OwnKey, { material, key }: ImportedHalf): BoundKey {
  const mismatch = readKeyMismatch(given.algorithm, key)
  if (mismatch !== null) throw new ConfigurationError(`${field}: ${given.algorithm} ${mismatch}`)
  return bindKey(given.algorithm, key, parseKid(field, given, material, key))
}

function parseKid(field: string, { kid }: OwnKey, material: unknown, key: NodeKey): string {
  if (kid === undefined) return toKid(field, material, key)
  if (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID_LENGTH) {
    throw new ConfigurationError(`${field}.kid must be a string of 1 to ${MAX_KID_LENGTH} characters`)
  }
  return kid
}

function assertAbsent(field: string, given: OwnKey, names: readonly (keyof OwnKey)[], reason: string): void {
  const name = names.find((each) => given[each] !== undefined)
  if (name !== undefined) throw new ConfigurationError(`${field}.${name} cannot be used here: ${reason}`)
}
