import crypto, { createHash, createPrivateKey, createPublicKey } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

// To make the keys of a test file again for every mutant takes longer than all of its tests: an RSA key takes a second,
// a DSA key many. Here each is made once, and found again by the lines that ask for it. The folder outlives the copy
// of the project that the mutants are tried in.
const [ROOT = ''] = process.cwd().split('/build/mutation/')
const FOLDER = join(ROOT, 'build/mutation/keys')
const PRIVATE = { format: 'pem', type: 'pkcs8' } as const
const PUBLIC = { format: 'pem', type: 'spki' } as const

type Generate = (type: string, options?: object) => crypto.KeyPairKeyObjectResult
const shared = globalThis as { generateNewKeyPair?: Generate }
// This file runs before every test file, most often in a thread where it has run before.
const generate = (shared.generateNewKeyPair ??= crypto.generateKeyPairSync as Generate)
const calls = new Map<string, number>()

function rememberKeyPair(type: string, options: object = {}): unknown {
  // Anyone who wants another form gets a new key.
  if ('publicKeyEncoding' in options || 'privateKeyEncoding' in options) return generate(type, options)
  const caller = describeCaller() + type + JSON.stringify(options)
  // A line in a loop asks for another key each time.
  const call = (calls.get(caller) ?? 0) + 1
  calls.set(caller, call)
  const name = createHash('sha256').update(`${caller} ${call}`).digest('hex').slice(0, 24)
  const file = join(FOLDER, `${name}.pem`)
  if (!existsSync(file)) {
    const made = generate(type, options)
    mkdirSync(FOLDER, { recursive: true })
    writeFileSync(
      file,
      `${made.privateKey.export(PRIVATE).toString()}${made.publicKey.export(PUBLIC).toString()}`,
    )
  }
  const pem = readFileSync(file, 'utf8')
  return {
    privateKey: createPrivateKey(pem),
    publicKey: createPublicKey(pem.slice(pem.indexOf('-----BEGIN PUBLIC KEY-----'))),
  }
}

// The pairs that test files share are the same ones, whichever file asks first.
function describeCaller(): string {
  const frames = (new Error('caller').stack ?? '').split('\n').filter((frame) => frame.includes('/test/'))
  if (frames.some((frame) => frame.includes('keyPairFor'))) return 'keyPairFor'
  return frames.map((frame) => frame.slice(frame.lastIndexOf('/test/'))).join('\n')
}

Object.assign(crypto, { generateKeyPairSync: rememberKeyPair })
syncBuiltinESMExports()
