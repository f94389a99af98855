import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createKeyRing } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { readAbsence } from './corpora.js'
import { NO_KEYS } from './key-sources.js'
import { readSecrets, runWeakSecrets } from './weak-secrets.js'

const FOLDER = fileURLToPath(new URL('../../../shared/vectors', import.meta.url))

const absence = readAbsence(FOLDER)
if (absence !== null) console.log(absence)

describe.skipIf(absence !== null)('published secrets', () => {
  test('the list is read whole, its long secrets too', () => {
    const secrets = readSecrets(FOLDER)
    expect(secrets.filter((secret) => secret.includes('\r') || secret.includes('\uFFFD'))).toEqual([])
    expect(secrets.filter((secret) => Buffer.byteLength(secret) >= 32)).toHaveLength(1886)
    expect(new Set(secrets).size).toBe(103_782)
  })

  // `node tools/evidence/vectors.js` tries all of them.
  test('none of the long ones is taken, and none of every tenth of the others', () => {
    const { cases, passed, unexplained } = runWeakSecrets(FOLDER, { every: 10 })
    expect(unexplained).toEqual([])
    expect(passed).toBe(cases)
    expect(cases).toBeGreaterThan(12_000)
  })
})

// Or a library that takes no secret at all would do.
test('secrets that nobody has published are taken', () => {
  for (let count = 0; count < 200; count++) {
    const secret = randomBytes(32).toString(count % 2 === 0 ? 'base64url' : 'hex')
    expect(() => createKeyRing({ ...NO_KEYS, JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret })).not.toThrow()
  }
})
