// Regenerates packages/tokenlib/src/tokens/published-secrets.ts from the published list: node tools/packages/published-secrets.js
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { root } from '../shared/root.js'

// Shorter ones are refused for their length.
const LEAST_BYTES = 32
const FINGERPRINT_BYTES = 5
const LINE_LENGTH = 110

// Of the example tokens at jwt.io for 256, 384 and 512 bits, which are newer than the list.
const EXAMPLES = [
  'a-string-secret-at-least-256-bits-long',
  'a-valid-string-secret-that-is-at-least-384-bits-long',
  'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
]

const lines = readFileSync(`${root}../shared/vectors/weak-secrets/jwt.secrets.list`).toString().split(/\r?\n/)
const long = lines.filter((line) => Buffer.byteLength(line) >= LEAST_BYTES)
const fingerprints = [...long, ...EXAMPLES].map((line) =>
  createHash('sha256')
    .update(line.trim())
    .digest('hex')
    .slice(0, 2 * FINGERPRINT_BYTES),
)
const bytes = Buffer.from([...new Set(fingerprints)].toSorted().join(''), 'hex')
const text = bytes
  .toString('base64')
  .match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g'))
  .join('\n')

writeFileSync(
  `${root}packages/tokenlib/src/tokens/published-secrets.ts`,
  `// Made by tools/packages/published-secrets.js from the list of wallarm/jwt-secrets and the examples at jwt.io. Has all
// secrets of ${LEAST_BYTES} bytes and more.

/** How many bytes of its SHA-256 digest each secret is known by. */
export const FINGERPRINT_BYTES = ${FINGERPRINT_BYTES}

/** The fingerprints of ${bytes.length / FINGERPRINT_BYTES} secrets that anyone can look up, sorted, in base64. */
export const PUBLISHED_SECRETS = \`
${text}
\`
`,
)
console.log(`${bytes.length / FINGERPRINT_BYTES} secrets, ${bytes.length} bytes`)
