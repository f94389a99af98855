import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createRequest, csrfOf } from '../helpers/requests.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { forge, SECRET, signInput } from './harness/forge.js'
import { readNodes, readSourceFiles, type SyntaxNode } from './harness/source-files.js'

// Long enough for every algorithm.
const KEY = `${SECRET}-7Rt`

const SIZES = { HS256: 32, HS384: 48, HS512: 64 } as const

// MACs are compared as texts in base64url, in UTF-16: two bytes a character.
const sizeOfText = (bytes: number): number => 2 * Math.ceil((bytes * 4) / 3)

/** The token that an algorithm would make, with another signature. */
function withSignature(algorithm: string, change: (right: Buffer) => Buffer): string {
  const input = forge({ algorithm, key: KEY }).split('.').slice(0, 2).join('.')
  return forge({ algorithm, signature: change(signInput(algorithm, KEY, input)) })
}

/** A copy of bytes that differs in one bit of one byte. */
function flip(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ 1
  return copy
}

describeAttacks('guessing a MAC by how long it takes to refuse it (CVE-2026-9537, CVE-2016-7037)', () => {
  for (const [algorithm, size] of Object.entries(SIZES) as ['HS256', number][]) {
    attack(`${algorithm}: a MAC that is right but for one byte, anywhere`, async ({ open }) => {
      const verifier = await open({ algorithm, key: KEY }, forge({ algorithm, key: KEY }))
      for (let at = 0; at < size; at++) {
        await verifier.refuses(withSignature(algorithm, (right) => flip(right, at)))
      }
    })
  }

  attack('the first bytes of the right MAC, or more than all of it (RFC 7518 §3.2)', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: KEY }, forge({ key: KEY }))
    for (let length = 1; length < 32; length++) {
      await verifier.refuses(withSignature('HS256', (right) => right.subarray(0, length)))
    }
    await verifier.refuses(withSignature('HS256', (right) => Buffer.concat([right, Buffer.alloc(1)])))
    await verifier.refuses(withSignature('HS256', (right) => Buffer.concat([right, right])))
  })

  ownAttack('a guess is compared whole, however many of its bytes are right', async () => {
    const tokens = createManager()
    for (const [algorithm, size] of Object.entries(SIZES) as ['HS256', number][]) {
      const own = createManager({ JWT_ALGORITHM: algorithm })
      const whole = [[sizeOfText(size), sizeOfText(size)]]
      expect(await watchComparisons(() => own.verify(forge({ algorithm, key: KEY })))).toEqual(whole)
      for (const at of [0, 1, size / 2, size - 1]) {
        const guess = withSignature(algorithm, (right) => flip(right, at))
        expect(await watchComparisons(() => own.verify(guess))).toEqual(whole)
      }
    }
    // A guess of another length says nothing about the bytes, and is compared with none of them.
    const short = withSignature('HS256', (right) => right.subarray(0, 31))
    expect(await watchComparisons(() => tokens.verify(short))).toEqual([])
  })

  ownAttack('a guessed CSRF value is compared whole, too', async () => {
    const tokens = createManager({ JWT_TOKEN_LOCATION: ['cookies'] })
    const token = tokens.createAccessToken({ uid: 'ada' })
    const right = csrfOf(token)
    const send = (csrf: string) => () => {
      const headers = { 'x-csrf-token': csrf }
      const cookies = { access_token_cookie: token }
      return tokens.accessTokenRequired(createRequest({ method: 'POST', headers, cookies }))
    }
    await send(right)()
    const signature = [sizeOfText(32), sizeOfText(32)]
    // UTF-16, two bytes a character.
    const value = [2 * right.length, 2 * right.length]
    for (let known = 0; known <= right.length; known++) {
      const guess = right.slice(0, known).padEnd(right.length, '!')
      expect(await watchComparisons(send(guess))).toEqual([signature, value])
    }
    expect(await watchComparisons(send(`${right}!`))).toEqual([signature])
    expect(await watchComparisons(send(right.slice(1)))).toEqual([signature])
  })

  ownAttack('no secret value is compared in any other way', () => {
    const files = readSourceFiles().filter(({ path }) => !AT_CONSTRUCTION.has(path))
    expect(files.length).toBeGreaterThan(100)
    const found = files.flatMap(({ path, text, nodes }) =>
      nodes.filter(isLeakyComparison).map(({ start, end }) => `${path}: ${text.slice(start, end)}`),
    )
    expect(found).toEqual(HARMLESS)
    // It would find one.
    const leaky =
      'found.csrf === payload.csrf; a.signature !== b; left.equals(digest); expected.includes(mac)'
    expect(readNodes(leaky).filter(isLeakyComparison)).toHaveLength(4)
    const harmless = "csrf === null; signature.length !== 64; csrf === ''; names.includes(kid)"
    expect(readNodes(harmless).filter(isLeakyComparison)).toEqual([])
  })
})

function createManager(options: ConstructorParameters<typeof TokenConfig>[0] = {}): TokenManager {
  const config = new TokenConfig({ JWT_SECRET_KEY: KEY, JWT_VERIFIED_CACHE_SIZE: 0, ...options })
  return new TokenManager({ config })
}

// The lengths of both sides of every comparison in constant time, call by call.
async function watchComparisons(run: () => Promise<unknown>): Promise<[number, number][]> {
  const seen: [number, number][] = []
  const original = crypto.timingSafeEqual
  crypto.timingSafeEqual = (left, right) => {
    seen.push([left.byteLength, right.byteLength])
    return original(left, right)
  }
  syncBuiltinESMExports()
  try {
    await run().catch(() => {})
  } finally {
    crypto.timingSafeEqual = original
    syncBuiltinESMExports()
  }
  return seen
}

// Both sides of these are the operator's own, and compared once, when a manager is made.
const AT_CONSTRUCTION = new Set([
  'packages/tokenlib/src/tokens/key-ring.ts',
  'packages/tokenlib/src/tokens/secret.ts',
])

// Runs in the page, between two readings of a cookie of its own: anyone who can measure it can read the cookie.
const HARMLESS = [
  // What the device itself has stored, or will.
  'packages/client/src/stored-tokens.ts: (await read()) === sent',
  'packages/client/src/stored-tokens.ts: stored !== sent',
  'packages/client/src/stored-tokens.ts: unstored === sent',
  'packages/client/src/stored-tokens.ts: unstored === sent',
  'packages/client/src/token-client.ts: csrf === sessionCsrf',
]

const SECRET_NAME = /^(?:csrf|sent|signature|expected|digest|mac|hmac|secret)$/
const COMPARING_METHOD = /^(?:equals|compare|localeCompare|includes|startsWith|endsWith|indexOf)$/

function isLeakyComparison(node: SyntaxNode): boolean {
  if (node.type === 'BinaryExpression' && /^[!=]==?$/.test(String(node['operator']))) {
    const sides = [node['left'], node['right']] as SyntaxNode[]
    return sides.some(isSecret) && !sides.some(isConstant)
  }
  const callee = node.type === 'CallExpression' ? (node['callee'] as SyntaxNode) : null
  if (callee?.type !== 'MemberExpression' || !COMPARING_METHOD.test(nameOf(callee) ?? '')) return false
  return [callee['object'] as SyntaxNode, ...(node['arguments'] as SyntaxNode[])].some(isSecret)
}

function isSecret(node: SyntaxNode): boolean {
  return SECRET_NAME.test(nameOf(node) ?? '')
}

function isConstant(node: SyntaxNode): boolean {
  return node.type === 'Literal' || nameOf(node) === 'undefined'
}

function nameOf(node: SyntaxNode): string | null {
  const named = node.type === 'MemberExpression' ? (node['property'] as SyntaxNode) : node
  return named.type === 'Identifier' ? String(named['name']) : null
}
