import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

// A process of its own: it would not end by itself. It takes the built library, and little memory for young objects,
// so that garbage is collected at every moment. Without copies of the keys, most runs never end.
const PROGRAM = `
  import { generateKeyPairSync } from 'node:crypto'
  import { TokenConfig, TokenManager } from 'tokenlib'
  const kinds = [
    ['EdDSA', () => generateKeyPairSync('ed25519')],
    ['ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ]
  for (let count = 0; count < 4000; count++) {
    const [JWT_ALGORITHM, generate] = kinds[count % 2]
    new TokenManager({ config: new TokenConfig({ JWT_ALGORITHM, JWT_PRIVATE_KEY: generate().privateKey }) })
  }
  process.stdout.write('done')
`

test('a key that was just generated is taken, whenever garbage is collected', async () => {
  const args = ['--max-semi-space-size=1', '--input-type=module', '--eval', PROGRAM]
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: 100_000 })
  expect(stdout).toBe('done')
}, 120_000)
