import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyPairKeyObjectResult,
} from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { parse } from 'node:path'
import { ALGORITHMS, deriveKid, MAX_KID_LENGTH } from 'tokenlib/kit'
import type { Algorithm } from 'tokenlib/kit'
import {
  assertArguments,
  type Command,
  type CommandCall,
  parseChoice,
  parseNumber,
  readText,
  writeJson,
} from './command.js'
import { CommandError, EXIT } from './exit.js'
import { safe, safeLines } from './safe-text.js'

const FORMATS = ['pem', 'jwk', 'env'] as const
const NAMES = Object.keys(ALGORITHMS).filter((name) => !name.startsWith('HS')) as Algorithm[]

// So that it can stand in an environment file, and be typed.
const KID = /^[!#-&(-[\]-_a-~]+$/

interface KeyTexts {
  readonly pem: string
  readonly jwk: Readonly<Record<string, unknown>>
}

interface GeneratedKeys {
  readonly algorithm: Algorithm
  readonly kid: string
  readonly private: KeyTexts
  readonly public: KeyTexts
}

/** Makes a key pair. */
export const keygen: Command = {
  name: 'keygen',
  summary: 'make a key pair, with its kid',
  usage: 'keygen [--algorithm ES256] [--format pem|jwk|env] [--out <path>] [options]',
  options: {
    algorithm: {
      type: 'string',
      value: 'name',
      default: 'ES256',
      description: NAMES.join(', '),
    },
    format: { type: 'string', value: 'pem|jwk|env', default: 'pem', description: 'how the keys are written' },
    bits: { type: 'string', value: 'number', default: '3072', description: 'of an RSA key, 2048 to 8192' },
    kid: {
      type: 'string',
      value: 'id',
      description: 'the key id of a JWK; otherwise its thumbprint (RFC 7638)',
    },
    out: {
      type: 'string',
      value: 'path',
      description:
        'write the private key to a file with mode 0600, and the public key next to it; never overwrites',
    },
  },
  details: safe`
pem   PKCS #8 and SPKI. The kid is the thumbprint: PEM has no place for another one.
jwk   one JSON object with the members private and public.
env   the variables JWT_ALGORITHM, JWT_PRIVATE_KEY and JWT_PUBLIC_KEY.

With --out keys/signing.pem the public key is written to keys/signing.pub.pem. With --format env there is one file.`,
  async run(call) {
    assertArguments(call, [])
    const { values, terminal } = call
    const format = parseChoice(call, 'format', FORMATS)
    const keys = generateKeys(call, format)
    const files = writeFiles(readText(call, 'out'), format, keys)
    if (values['json'] === true) {
      // Keys that are written to files are not printed.
      const { private: secret, ...shown } = keys
      writeJson(terminal, files.length > 0 ? { ...shown, files } : { ...shown, private: secret })
      return EXIT.ok
    }
    if (files.length === 0) {
      terminal.write(safeLines(toText(format, keys).trimEnd().split('\n')))
      terminal.warn(safe`kid ${keys.kid}\n`)
      if (terminal.isInteractive) {
        const advice = 'The private key is on your screen: --out writes it to a file.'
        terminal.warn(safe`${terminal.style('yellow', advice)}\n`)
      }
      return EXIT.ok
    }
    terminal.write(safe`algorithm  ${keys.algorithm}\nkid        ${keys.kid}\n`)
    for (const { path, holds } of files) terminal.write(safe`${holds.padEnd(11)}${path}\n`)
    return EXIT.ok
  },
}

function generateKeys(call: CommandCall, format: (typeof FORMATS)[number]): GeneratedKeys {
  const algorithm = parseChoice(call, 'algorithm', NAMES)
  const given = readText(call, 'kid')
  if (given !== null && format === 'pem' && call.values['json'] !== true) {
    throw new CommandError('PEM has no place for a kid: use --format jwk or --format env', EXIT.usage)
  }
  if (given !== null && (given.length > MAX_KID_LENGTH || !KID.test(given))) {
    throw new CommandError(
      `--kid must be 1 to ${MAX_KID_LENGTH} printable ASCII characters without quotes and backslashes`,
      EXIT.usage,
    )
  }
  const pair = generate(algorithm, parseNumber(call, 'bits', 2048, 8192))
  const privatePem = String(pair.privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const publicPem = String(pair.publicKey.export({ format: 'pem', type: 'spki' }))
  // Reimport the keys: in Node 20, exporting generated key objects as JWK can hang.
  const publicKey = createPublicKey(publicPem)
  const kid = given ?? deriveKid(publicKey)
  const members = { kid, alg: algorithm, use: 'sig' }
  return {
    algorithm,
    kid,
    private: {
      pem: privatePem,
      jwk: { ...createPrivateKey(privatePem).export({ format: 'jwk' }), ...members },
    },
    public: { pem: publicPem, jwk: { ...publicKey.export({ format: 'jwk' }), ...members } },
  }
}

function generate(algorithm: Algorithm, modulusLength: number): KeyPairKeyObjectResult {
  const spec = ALGORITHMS[algorithm]
  if (spec.family === 'ecdsa') return generateKeyPairSync('ec', { namedCurve: spec.curve })
  if (spec.family === 'eddsa') return generateKeyPairSync('ed25519')
  // Also for PS256: a key of the type rsa-pss has no form as a JWK.
  return generateKeyPairSync('rsa', { modulusLength })
}

function toText(format: (typeof FORMATS)[number], keys: GeneratedKeys): string {
  if (format === 'pem') return keys.private.pem + keys.public.pem
  if (format === 'jwk') {
    return `${JSON.stringify({ private: keys.private.jwk, public: keys.public.jwk }, null, 2)}\n`
  }
  // As JWKs, which include the kid. Only a kid could put a single quote into the JSON, and kids are checked.
  return `JWT_ALGORITHM=${keys.algorithm}
JWT_PRIVATE_KEY='${JSON.stringify(keys.private.jwk)}'
JWT_PUBLIC_KEY='${JSON.stringify(keys.public.jwk)}'
`
}

interface WrittenFile {
  readonly holds: 'private' | 'public' | 'both'
  readonly path: string
}

function writeFiles(
  out: string | null,
  format: (typeof FORMATS)[number],
  keys: GeneratedKeys,
): readonly WrittenFile[] {
  if (out === null) return []
  if (format === 'env') {
    writeNew(out, toText(format, keys), 0o600)
    return [{ holds: 'both', path: out }]
  }
  const toFile = (texts: KeyTexts): string =>
    format === 'pem' ? texts.pem : `${JSON.stringify(texts.jwk, null, 2)}\n`
  const { ext } = parse(out)
  const beside = `${ext === '' ? out : out.slice(0, -ext.length)}.pub${ext}`
  writeNew(out, toFile(keys.private), 0o600)
  try {
    writeNew(beside, toFile(keys.public), 0o644)
  } catch (error) {
    // Half of a pair is useless, and would block the next attempt.
    rmSync(out)
    throw error
  }
  return [
    { holds: 'private', path: out },
    { holds: 'public', path: beside },
  ]
}

function writeNew(path: string, text: string, mode: number): void {
  try {
    writeFileSync(path, text, { flag: 'wx', mode })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const reason = code === 'EEXIST' ? 'it exists already, and keys are never overwritten' : String(code)
    throw new CommandError(`Cannot write ${path}: ${reason}`, EXIT.usage, { cause })
  }
}
