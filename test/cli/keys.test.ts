import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { calculateJwkThumbprint, exportJWK, importSPKI } from 'jose'
import { describe, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { Algorithm, Jwk } from '../../packages/tokenlib/src/kit.js'
import { ALL_ALGORITHMS } from '../helpers/keys.js'
import { runCommand } from './test-terminal.js'

interface Keys {
  readonly algorithm: Algorithm
  readonly kid: string
  readonly private?: { readonly pem: string; readonly jwk: Jwk }
  readonly public: { readonly pem: string; readonly jwk: Jwk }
  readonly files?: readonly { readonly holds: string; readonly path: string }[]
}

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'tokenlib-cli-'))

async function roundTrip(env: Readonly<Record<string, string | undefined>>): Promise<TokenManager> {
  const tokens = new TokenManager({ config: TokenConfig.fromEnv({}, env) })
  const { sub } = await tokens.verify(tokens.createAccessToken({ uid: 'ada' }))
  expect(sub).toBe('ada')
  return tokens
}

describe('secret', () => {
  test('stdout is the secret alone, and the environment takes it as it is', async () => {
    const { stdout, stderr } = await runCommand(['secret'])
    expect(stdout).toMatch(/^[\w-]{43}\n$/)
    expect(stderr).toBe('')
    await roundTrip({ JWT_SECRET_KEY: stdout.trim() })
  })

  test.each([
    ['48', 'HS384'],
    ['64', 'HS512'],
  ])('%s bytes are enough for %s', async (bytes, algorithm) => {
    const result = await runCommand(['secret', '--bytes', bytes, '--json'])
    const { secret, bits, kid } = result.json<{ secret: string; bits: number; kid: string }>()
    expect(Buffer.from(secret, 'base64url')).toHaveLength(Number(bytes))
    expect(bits).toBe(Number(bytes) * 8)
    expect((await roundTrip({ JWT_SECRET_KEY: secret, JWT_ALGORITHM: algorithm })).keys.current).toBe(kid)
  })

  test('two calls give two secrets, and a terminal is told what to do with them', async () => {
    const [one, other] = [await runCommand(['secret'], { answer: true }), await runCommand(['secret'])]
    expect(one.stdout).not.toBe(other.stdout)
    expect(one.stderr).toContain('JWT_SECRET_KEY')
  })
})

describe('keygen', () => {
  // One of each kind of RSA key: they are slow to make.
  test.each(ALL_ALGORITHMS.filter((name) => !/^HS|^[RP]S(?!256)/.test(name)))('%s', async (algorithm) => {
    const result = await runCommand(['keygen', '--algorithm', algorithm, '--bits', '2048', '--json'])
    const keys = result.json<Keys>()
    const publicJwk = keys.public.jwk as Parameters<typeof calculateJwkThumbprint>[0]
    // RFC 7638, by another implementation, and of the PEM as well.
    expect(keys.kid).toBe(await calculateJwkThumbprint(publicJwk))
    const imported = await importSPKI(keys.public.pem, algorithm === 'Ed25519' ? 'EdDSA' : algorithm, {
      extractable: true,
    })
    expect(await calculateJwkThumbprint(await exportJWK(imported))).toBe(keys.kid)
    expect(keys.public.jwk).toMatchObject({ kid: keys.kid, alg: algorithm, use: 'sig' })
    expect(Object.keys(keys.public.jwk)).not.toContain('d')
    const pem = await roundTrip({ JWT_ALGORITHM: algorithm, JWT_PRIVATE_KEY: keys.private?.pem })
    expect(pem.keys.current).toBe(keys.kid)
  })

  test('--format env is a file that the environment is read from, with the kid', async () => {
    const { stdout, stderr } = await runCommand(['keygen', '--format', 'env', '--kid', 'signing-2026'])
    const env = parseEnv(stdout) as Record<string, string>
    expect((await roundTrip(env)).keys.current).toBe('signing-2026')
    expect(stderr).toBe('kid signing-2026\n')
  })

  test('--format jwk prints both keys', async () => {
    const { stdout } = await runCommand(['keygen', '--format', 'jwk', '--algorithm', 'EdDSA'])
    const { private: secret, public: shown } = JSON.parse(stdout) as { private: Jwk; public: Jwk }
    expect([secret.kid, secret['d'] !== undefined, shown['d']]).toEqual([shown.kid, true, undefined])
    await roundTrip({ JWT_ALGORITHM: 'EdDSA', JWT_PRIVATE_KEY: JSON.stringify(secret) })
  })

  test('--out writes the private key for its owner alone, and prints none of it', async () => {
    const out = join(newFolder(), 'signing.pem')
    const { stdout, stderr } = await runCommand(['keygen', '--out', out])
    const [secret, shown] = [readFileSync(out, 'utf8'), readFileSync(out.replace('.pem', '.pub.pem'), 'utf8')]
    expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(secret).toContain('BEGIN PRIVATE KEY')
    expect(shown).toContain('BEGIN PUBLIC KEY')
    expect(stdout + stderr).not.toContain('BEGIN')
    await roundTrip({ JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: secret, JWT_PUBLIC_KEY: shown })
    const keys = (await runCommand(['keygen', '--out', `${out}2`, '--json'])).json<Keys>()
    expect(keys.private).toBeUndefined()
    expect(keys.files).toHaveLength(2)
  })

  test('--out overwrites neither of the two files, and leaves no half of a pair', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'a.json'), 'precious')
    writeFileSync(join(folder, 'b.pub.json'), 'precious')
    for (const name of ['a.json', 'b.json']) {
      const { exitCode } = await runCommand(['keygen', '--format', 'jwk', '--out', join(folder, name)])
      expect(exitCode).toBe(2)
    }
    expect(readFileSync(join(folder, 'a.json'), 'utf8')).toBe('precious')
    expect(existsSync(join(folder, 'b.json'))).toBe(false)
  })
})
