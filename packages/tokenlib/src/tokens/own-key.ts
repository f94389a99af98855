import { ConfigurationError } from '../errors.js'
import {
  callable,
  choice,
  date,
  type OptionKinds,
  parseOptions,
  required,
  text,
  textLike,
  unchecked,
} from '../options.js'
import type { Scheduler } from '../time.js'
import { ALGORITHMS, type BoundKey, isHmac } from './algorithms.js'
import { importPrivateKey, importPublicKey } from './asymmetric.js'
import {
  createExternalSigner,
  createWebCryptoSigner,
  fromWebCryptoKey,
  isWebCryptoKey,
  type SigningKey,
  type SignFunction,
} from './external-signer.js'
import type { Algorithm, KeyMaterial, SecretMaterial, WebCryptoKey } from './jose.js'
import { assertJwkUse, isKid, KID_FORM, parseJwkText } from './jose.js'
import { bindHalf, bindSecret, bindSigner, completePair, type KeyHalf } from './key-ring.js'

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
  /** Signs new tokens from this moment on. It verifies tokens from the beginning. Default: immediately. */
  readonly notBefore?: Date | undefined
  /** Neither signs nor verifies from this moment on. Default: never. */
  readonly retireAt?: Date | undefined
}

const KEY_OPTIONS: OptionKinds<OwnKey> = {
  kid: textLike(KID_FORM, isKid),
  algorithm: required(choice(Object.keys(ALGORITHMS) as Algorithm[])),
  secret: unchecked(),
  privateKey: unchecked(),
  passphrase: text,
  publicKey: unchecked(),
  sign: callable(),
  notBefore: date,
  retireAt: date,
}

/** How keys are imported. */
export interface ImportRules {
  readonly allowWeakSecret: boolean
  readonly signTimeoutMs: number
  readonly scheduler: Scheduler
}

/** An imported key with its moments in epoch milliseconds; infinite if not set. */
export interface ScheduledKey {
  readonly verifying: BoundKey
  /** `null` for a key that only verifies. */
  readonly signing: SigningKey | null
  readonly notBefore: number
  readonly retireAt: number
}

/** Imports one key of a list; `field` names it in errors. `TypeError` or `ConfigurationError` for a bad one. */
export function importOwnKey(field: string, options: OwnKey, rules: ImportRules): ScheduledKey {
  const toError = (problem: string): Error => new ConfigurationError(`${field}.${problem}`)
  const given = parseOptions(field, options, KEY_OPTIONS, {}, toError)
  const notBefore = given.notBefore?.getTime() ?? Number.NEGATIVE_INFINITY
  const retireAt = given.retireAt?.getTime() ?? Number.POSITIVE_INFINITY
  if (retireAt <= notBefore) {
    throw new ConfigurationError(`${field}.retireAt must be later than its notBefore`)
  }
  const imported = isHmac(given.algorithm)
    ? importSecretKey(field, given, rules)
    : importKeyPair(field, given, rules)
  return { ...imported, notBefore, retireAt }
}

type ImportedKey = Pick<ScheduledKey, 'verifying' | 'signing'>

function importSecretKey(field: string, given: OwnKey, rules: ImportRules): ImportedKey {
  const { algorithm, secret, kid } = given
  assertAbsent(field, given, ['privateKey', 'passphrase', 'publicKey', 'sign'], `${algorithm} needs a secret`)
  if (secret === undefined) throw new ConfigurationError(`${field}: ${algorithm} needs a secret`)
  const key = bindSecret(`${field}.secret`, secret, algorithm, { allowWeak: rules.allowWeakSecret, kid })
  return { verifying: key, signing: key }
}

function importKeyPair(field: string, given: OwnKey, rules: ImportRules): ImportedKey {
  const { algorithm, privateKey, kid } = given
  assertAbsent(field, given, ['secret'], `${algorithm} needs a key pair`)
  if (privateKey !== undefined) {
    assertAbsent(field, given, ['sign'], 'a key signs with its privateKey or with sign')
  }
  if (privateKey === undefined || isWebCryptoKey(privateKey)) {
    assertAbsent(field, given, ['passphrase'], 'it is for a privateKey in PEM')
  }
  const publicHalf = importHalf(field, given, 'publicKey')
  const isClosed = isWebCryptoKey(privateKey) && !privateKey.extractable
  const sign = isClosed ? createWebCryptoSigner(`${field}.privateKey`, privateKey, algorithm) : given.sign
  const privateHalf = isClosed ? null : importHalf(field, given, 'privateKey')
  if (privateHalf !== null) {
    const verifying = bindHalf(completePair(privateHalf, publicHalf), algorithm, kid)
    return { verifying, signing: bindSigner(privateHalf, verifying) }
  }
  if (publicHalf === null) {
    throw new ConfigurationError(
      isClosed
        ? `${field}.privateKey is a CryptoKey that cannot be extracted: pass its publicKey as well`
        : `${field} needs a privateKey, a publicKey, or a publicKey with sign`,
    )
  }
  const verifying = bindHalf(publicHalf, algorithm, kid)
  const external = sign && createExternalSigner(sign, verifying, rules.signTimeoutMs, rules.scheduler)
  return { verifying, signing: external === undefined ? null : { ...verifying, external } }
}

function importHalf(field: string, given: OwnKey, name: 'privateKey' | 'publicKey'): KeyHalf | null {
  const { algorithm, [name]: half, passphrase: text = null } = given
  if (half === undefined) return null
  const path = `${field}.${name}`
  const isPrivate = name === 'privateKey'
  const material = isWebCryptoKey(half)
    ? fromWebCryptoKey(path, half, isPrivate ? 'private' : 'public', algorithm)
    : parseJwkText(half)
  const key = isPrivate
    ? importPrivateKey(path, material, { field: `${field}.passphrase`, text })
    : importPublicKey(path, material)
  assertJwkUse(path, material, algorithm, isPrivate ? 'sign' : 'verify')
  return { field: path, material, key }
}

function assertAbsent(field: string, given: OwnKey, names: readonly (keyof OwnKey)[], reason: string): void {
  const name = names.find((each) => given[each] !== undefined)
  if (name !== undefined) throw new ConfigurationError(`${field}.${name} cannot be used here: ${reason}`)
}
