import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/tokens/jose.js'

/** One signature of a document, with the key that made it. */
export interface CookbookSignature {
  readonly algorithm: Algorithm
  /** With its private part, if it has one. */
  readonly key: Jwk
  readonly signingInput: string
  readonly signature: string
}

/** A document: its signatures as made, and the forms in which it sends them. */
export interface CookbookDocument {
  readonly id: string
  readonly signatures: readonly CookbookSignature[]
  /** Compact ones are text, JSON ones objects. */
  readonly forms: Readonly<Record<string, unknown>>
}

const FOLDER = 'ietf-jose-cookbook'

/** The documents by the section of their RFC: 4.x and 6 are of RFC 7520. */
const SIGNED: Readonly<Record<string, string>> = {
  '4.1': 'jws/4_1.rsa_v15_signature.json',
  '4.2': 'jws/4_2.rsa-pss_signature.json',
  '4.3': 'jws/4_3.ecdsa_signature.json',
  '4.4': 'jws/4_4.hmac-sha2_integrity_protection.json',
  '4.5': 'jws/4_5.signature_with_detached_content.json',
  '4.6': 'jws/4_6.protecting_specific_header_fields.json',
  '4.7': 'jws/4_7.protecting_content_only.json',
  '4.8': 'jws/4_8.multiple_signatures.json',
  RFC8037: 'curve25519/jws.json',
  RFC7797: 'rfc7797/hmac-sha2_b64_false.json',
  'RFC7797 4.2': 'rfc7797/4.2.hmac-sha2_b64_false.json',
}
const NESTED = '6.nesting_signatures_and_encryption.json'
const ENCRYPTED = 'curve25519/ecdh-es.json'

/** The keys of RFC 7520 section 3. */
const KEYS: Readonly<Record<string, string>> = {
  '3.1': 'jwk/3_1.ec_public_key.json',
  '3.2': 'jwk/3_2.ec_private_key.json',
  '3.3': 'jwk/3_3.rsa_public_key.json',
  '3.4': 'jwk/3_4.rsa_private_key.json',
  '3.5': 'jwk/3_5.symmetric_key_mac_computation.json',
  '3.6': 'jwk/3_6.symmetric_key_encryption.json',
}

interface Signing {
  readonly 'sig-input': string
  readonly sig: string
}

interface SignedFile {
  readonly input: { readonly key: Jwk | readonly Jwk[]; readonly alg: Algorithm | readonly Algorithm[] }
  readonly signing: Signing | readonly Signing[]
  readonly output: Readonly<Record<string, unknown>>
}

/** All documents with signatures, the nested one with the form of its signature and those of its encryption. */
export function readDocuments(folder: string): CookbookDocument[] {
  const nested = readCookbook(folder, NESTED) as { sign: SignedFile; encrypt: Pick<SignedFile, 'output'> }
  const inner = toDocument('6', nested.sign)
  return [
    ...Object.entries(SIGNED).map(([id, file]) => toDocument(id, readCookbook(folder, file) as SignedFile)),
    inner,
    { ...inner, id: '6 encrypted', forms: nested.encrypt.output },
  ]
}

/** The forms of the one document that only encrypts. */
export function readEncryptedForms(folder: string): Readonly<Record<string, unknown>> {
  return (readCookbook(folder, ENCRYPTED) as Pick<SignedFile, 'output'>).output
}

/** The keys, by their section. */
export function readKeys(folder: string): Readonly<Record<string, Jwk>> {
  return Object.fromEntries(
    Object.entries(KEYS).map(([id, file]) => [id, readCookbook(folder, file) as Jwk] as const),
  )
}

/** Throws if the folder holds a document that is not named here. */
export function assertAllNamed(folder: string): void {
  const named = new Set([...Object.values(SIGNED), ...Object.values(KEYS), NESTED, ENCRYPTED])
  const unknown = readdirSync(join(folder, FOLDER), { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.json') && !named.has(file.replaceAll('\\', '/')),
  )
  if (unknown.length > 0) throw new Error(`Not named: ${unknown.join(', ')}`)
}

function toDocument(id: string, { input, signing, output }: SignedFile): CookbookDocument {
  const keys = [input.key].flat()
  const algorithms = [input.alg].flat()
  const signatures = [signing].flat().map((made, index) => ({
    algorithm: algorithms[index] as Algorithm,
    key: keys[index] as Jwk,
    signingInput: made['sig-input'],
    signature: made.sig,
  }))
  return { id, signatures, forms: output }
}

function readCookbook(folder: string, file: string): unknown {
  return JSON.parse(readFileSync(join(folder, FOLDER, file), 'utf8'))
}
