import crypto, { verify } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { keyPairOf } from '../harness/forge.js'
import { COUNTED, countWork } from './count-work.js'

const LONG = 'abc,'.repeat(2500)
const key = crypto.createSecretKey(Buffer.alloc(32))

describe('the counter of work', () => {
  const CALLS: readonly (readonly [name: string, work: number, run: () => unknown])[] = [
    ['String.split', 12_501, () => LONG.split(',')],
    ['String.split', 4, () => LONG.split(',', 1)],
    ['String.indexOf', 4, () => LONG.indexOf(',')],
    ['String.indexOf', 9990, () => LONG.indexOf('!', 10)],
    ['String.lastIndexOf', 2, () => LONG.lastIndexOf('c')],
    ['String.includes', 4, () => LONG.includes(',')],
    ['String.includes', 10_000, () => LONG.includes('!')],
    ['String.startsWith', 2, () => LONG.startsWith('ab')],
    ['String.slice', 9999, () => LONG.slice(1)],
    ['String.toLowerCase', 10_000, () => LONG.toLowerCase()],
    ['String.charCodeAt', 1, () => LONG.charCodeAt(9)],
    ['String.Symbol.iterator', 10_000, () => [...LONG]],
    ['RegExp.exec', 10_000, () => /^x+/.test(LONG)],
    ['RegExp.exec', 10_000, () => /^x/.exec(LONG)],
    ['RegExp.exec', 10_000, () => LONG.replace(/^x/, '')],
    ['Array.join', 5001, () => ['a'.repeat(2500), 'b'.repeat(2500)].join(',')],
    ['Array.join', 0, () => [LONG].join(',')],
    ['Array.map', 3, () => [1, 2, 3].map(String)],
    ['Map.get', 10_000, () => new Map<string, number>().get(LONG)],
    ['Set.has', 10_000, () => new Set<string>().has(LONG)],
    ['JSON.parse', 10_002, () => JSON.parse(`"${LONG}"`) as unknown],
    ['JSON.stringify', 10_002, () => JSON.stringify(LONG)],
    ['Buffer.from', 10_000, () => Buffer.from(LONG, 'base64url')],
    ['Buffer.concat', 3, () => Buffer.concat([Buffer.alloc(1), Buffer.alloc(2)])],
    ['TextDecoder.decode', 100, () => new TextDecoder().decode(new Uint8Array(100))],
    ['global.decodeURIComponent', 10_000, () => decodeURIComponent(LONG)],
    ['new.URLSearchParams', 10_000, () => new URLSearchParams(LONG)],
    ['Hmac.update', 10_000, () => crypto.createHmac('sha256', key).update(LONG)],
    ['crypto.verify', 8, () => verify(null, Buffer.alloc(8), keyPairOf('EdDSA').publicKey, Buffer.alloc(64))],
  ]

  test('counts every call that a limit is about', async () => {
    keyPairOf('EdDSA')
    const wrong: string[] = []
    for (const [name, work, run] of CALLS) {
      const counted = await countWork(run)
      const isRight = counted.error === null && counted.work.by[name] === work && counted.work.total >= work
      if (!isRight || !COUNTED.includes(name))
        wrong.push(`${String(run)}: ${counted.work.by[name]}, not ${work}`)
    }
    expect(wrong).toEqual([])
  })

  test('what throws is counted, too', async () => {
    const { work, error } = await countWork(() => JSON.parse('x'.repeat(100)) as unknown)
    expect(error).toBeInstanceOf(SyntaxError)
    expect(work.by['JSON.parse']).toBe(100)
  })

  test('afterwards everything is as it was', async () => {
    const before = readFunctions()
    await countWork(() => expect(readFunctions().filter((value, at) => value === before[at])).toEqual([]))
    await countWork(() => {
      throw new Error('refused')
    })
    expect(readFunctions().map((value, at) => value === before[at])).toEqual(before.map(() => true))
    expect(Object.keys(globalThis)).not.toContain('decodeURIComponent')
  })
})

// Not called, only compared.
function readFunctions(): unknown[] {
  const owners: [object, string][] = [
    [String.prototype, 'split'],
    [JSON, 'parse'],
    [Buffer, 'from'],
    [globalThis, 'URLSearchParams'],
    [crypto, 'verify'],
  ]
  return owners.map(([owner, name]) => Reflect.get(owner, name))
}
