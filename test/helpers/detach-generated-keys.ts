import crypto, { createPrivateKey, createPublicKey } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { generateRsa, type PssParameters, toPssPair } from './generate-rsa.js'

// In Node 20 a thread can deadlock while it exports a key from `generateKeyPairSync` as a JWK (see
// packages/tokenlib/src/tokens/asymmetric.ts), and tests export thousands. Here every such key is a copy with its own lock.
const DER = { format: 'der' } as const

interface KeyOptions extends Partial<PssParameters> {
  readonly modulusLength?: number
  readonly publicExponent?: number
}

type Generate = (type: string, options?: object) => crypto.KeyPairKeyObjectResult
const shared = globalThis as { generateAttached?: Generate }
// This file runs before every test file, most often in a thread where it has run before.
const generate = (shared.generateAttached ??= crypto.generateKeyPairSync as Generate)

function generateDetached(type: string, options: KeyOptions = {}): unknown {
  const { modulusLength, publicExponent, ...others } = options
  if (type === 'rsa' && modulusLength !== undefined && Object.keys(others).length === 0) {
    return generateRsa(modulusLength, publicExponent)
  }
  if (type === 'rsa-pss' && modulusLength !== undefined) {
    const { hashAlgorithm, mgf1HashAlgorithm, saltLength, ...more } = others
    const given = [hashAlgorithm, mgf1HashAlgorithm, saltLength].filter((value) => value !== undefined)
    if (Object.keys(more).length === 0 && given.length % 3 === 0) {
      const parameters = given.length === 0 ? undefined : (others as PssParameters)
      return toPssPair(generateRsa(modulusLength, publicExponent), parameters)
    }
  }
  const pair = generate(type, options)
  if ('publicKeyEncoding' in options || 'privateKeyEncoding' in options) return pair
  const privateKey = pair.privateKey.export({ ...DER, type: 'pkcs8' })
  const publicKey = pair.publicKey.export({ ...DER, type: 'spki' })
  return {
    privateKey: createPrivateKey({ key: privateKey, ...DER, type: 'pkcs8' }),
    publicKey: createPublicKey({ key: publicKey, ...DER, type: 'spki' }),
  }
}

Object.assign(crypto, { generateKeyPairSync: generateDetached })
syncBuiltinESMExports()
