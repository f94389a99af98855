import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { KeyAnswer, KeyFunction } from '../../packages/issuers/src/keys/key-source.js'
import type { JwsHeader } from '../../packages/tokenlib/src/tokens/jose.js'
import { keyPairFor } from '../helpers/keys.js'
import { outcomeOf } from '../helpers/revocable.js'
import { createJwk, createTestedKeys, headerOf, messagesOf, until } from '../helpers/key-server.js'

const a = createJwk('a')
const b = createJwk('b')
const { kid: _, alg: __, ...bare } = a.jwk
const publicKey = createPublicKey(a.privateKey)
const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()

const answering =
  (answer: unknown): KeyFunction =>
  () =>
    answer as KeyAnswer

describe('an answer may be', () => {
  test.each<[string, unknown]>([
    ['a JWK', a.jwk],
    ['a JWK without kid and alg', bare],
    ['a JWK in a text', JSON.stringify(a.jwk)],
    ['a list', [b.jwk, a.jwk]],
    ['a set', { keys: [a.jwk, b.jwk] }],
    ['PEM text', pem],
    ['a KeyObject', publicKey],
    ['a promise', Promise.resolve(a.jwk)],
  ])('%s', async (_name, answer) => {
    const keys = createTestedKeys(answering(answer))
    expect(keys.find(headerOf('a'))).toBeNull()
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
    const [key] = keys.find(headerOf('a')) ?? []
    expect(key?.key.equals(publicKey)).toBe(true)
    expect(keys.isTrusted(key as never)).toBe(true)
    expect(keys.loaded).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['an empty list', []],
    ['an empty set', { keys: [] }],
    ['another key than the one asked for', b.jwk],
    ['a list without it', [b.jwk]],
    ['a list with a key that has no kid', [bare]],
  ])('no key: %s', async (_name, answer) => {
    const keys = createTestedKeys(answering(answer))
    expect(await keys.look(headerOf('a'))).toEqual([])
    expect(keys.failed).toEqual([])
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['a number', 1],
    ['true', true],
    ['text that is no key', 'a'],
    ['bytes', Buffer.from('key')],
    ['an object', {}],
    ['a private key', a.privateKey],
    ['a private JWK', a.privateKey.export({ format: 'jwk' })],
    ['a secret', { kty: 'oct', k: 'AAAA' }],
    ['an invalid set', { keys: 'a' }],
    ['a list of PEM texts', [pem]],
    ['101 keys', Array.from({ length: 101 }, () => a.jwk)],
  ])('a mistake, which is reported: %s', async (_name, answer) => {
    const keys = createTestedKeys(answering(answer))
    await expect(keys.load(headerOf('a'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
    expect(keys.failed).toHaveLength(1)
  })

  test('for a token without kid, the key without one', async () => {
    const keys = createTestedKeys(answering(pem))
    expect(await keys.look(headerOf())).toEqual([''])
  })

  test('without alg: for the algorithm of the header, if that is accepted and fits', async () => {
    const { publicKey: rsa } = keyPairFor('RS256')
    for (const answer of [rsa, rsa.export({ format: 'jwk' })]) {
      const keys = createTestedKeys(answering(answer))
      expect(await keys.look(headerOf('rsa', 'RS256'))).toEqual(['rsa'])
      expect(await keys.look(headerOf('rsa', 'PS256'))).toEqual(['rsa'])
      for (const alg of ['ES256', 'PS384', 'HS256']) expect(await keys.look(headerOf('rsa', alg))).toEqual([])
    }
  })

  test('for another algorithm than that of the header', async () => {
    const keys = createTestedKeys(answering(createJwk('rsa', 'RS256').jwk))
    expect(await keys.look(headerOf('rsa', 'PS256'))).toEqual([])
  })
})

/** A function with the keys a and b, which counts its calls. */
function createCounted(): { find: KeyFunction; calls: [JwsHeader, string][]; store: Map<string, KeyAnswer> } {
  const calls: [JwsHeader, string][] = []
  const store = new Map<string, KeyAnswer>([
    ['a', a.jwk],
    ['b', b.jwk],
  ])
  return {
    calls,
    store,
    async find(header, issuer) {
      calls.push([header, issuer])
      return store.get(header.kid ?? '') ?? null
    },
  }
}

describe('the function is called', () => {
  test('with the frozen header and the issuer, once for everybody who waits', async () => {
    const { find, calls } = createCounted()
    const keys = createTestedKeys(find)
    await keys.ready()
    expect(calls).toEqual([])
    await Promise.all(Array.from({ length: 100 }, () => keys.look(headerOf('a'))))
    expect(calls).toEqual([[{ alg: 'ES256', kid: 'a' }, 'https://id.example/']])
  })

  test('not for algorithms that are not accepted', async () => {
    const { find, calls } = createCounted()
    const keys = createTestedKeys(find)
    for (const header of [headerOf('a', 'HS256'), headerOf('a', 'none'), headerOf('')]) {
      expect(keys.find(header)).toEqual([])
    }
    expect(calls).toEqual([])
  })

  test('again in the background after ten minutes; a key that is gone is no longer trusted', async () => {
    const { find, calls, store } = createCounted()
    const keys = createTestedKeys(find)
    await keys.look(headerOf('a'))
    const [key] = keys.find(headerOf('a')) ?? []
    await keys.advance(600)
    expect(keys.find(headerOf('a'))).toEqual([key])
    expect(calls).toHaveLength(1)
    await keys.advance(1)
    expect(keys.isTrusted(key as never)).toBe(true)
    await until(() => keys.loaded.length === 2)
    expect(keys.find(headerOf('a'))?.[0]).toBe(key)
    store.delete('a')
    await keys.advance(601)
    expect(keys.isTrusted(key as never)).toBe(true)
    await until(() => !keys.isTrusted(key as never))
    expect(keys.find(headerOf('a'))).toEqual([])
    expect(calls).toHaveLength(3)
  })

  test('ten times per cool-down for unknown kids, however many there are', async () => {
    const { find, calls } = createCounted()
    const keys = createTestedKeys(find)
    await keys.look(headerOf('a'))
    const flood = Array.from({ length: 1000 }, (_item, at) => outcomeOf(keys.look(headerOf(`unknown ${at}`))))
    const outcomes = await Promise.all(flood)
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(10)
    // What was not looked for may exist.
    expect(outcomes.filter((outcome) => outcome === 'KEYS_UNAVAILABLE')).toHaveLength(990)
    expect(calls).toHaveLength(11)
    // Also one by one, and the same again.
    for (let at = 0; at < 10; at++) expect(keys.find(headerOf(`unknown ${at}`))).toEqual([])
    expect(await outcomeOf(keys.look(headerOf('b')))).toBe('KEYS_UNAVAILABLE')
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
    await keys.advance(30)
    expect(await keys.look(headerOf('b'))).toEqual(['b'])
    for (let at = 0; at < 1000; at++) await outcomeOf(keys.look(headerOf(`later ${at}`)))
    expect(calls).toHaveLength(22)
    // Those that are known are not affected.
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
  })

  test('for an unknown kid again soon after a flood, not only when the whole cool-down is over', async () => {
    const { find } = createCounted()
    const keys = createTestedKeys(find)
    for (let at = 0; at < 50; at++) await outcomeOf(keys.look(headerOf(`unknown ${at}`)))
    expect(await outcomeOf(keys.look(headerOf('a')))).toBe('KEYS_UNAVAILABLE')
    await keys.advance(3)
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
  })

  test('for a kid that had a key before, whatever strangers ask for', async () => {
    const { find, store } = createCounted()
    const keys = createTestedKeys(find)
    const kids = Array.from({ length: 120 }, (_item, at) => `k${at}`)
    for (const kid of kids) {
      store.set(kid, { ...a.jwk, kid })
      await keys.advance(1)
      await keys.look(headerOf(kid))
    }
    await keys.advance(30)
    for (let at = 0; at < 50; at++) await outcomeOf(keys.look(headerOf(`unknown ${at}`)))
    // Twenty others have been used since.
    expect(await keys.look(headerOf('k0'))).toEqual(['k0'])
    expect(await outcomeOf(keys.look(headerOf('a')))).toBe('KEYS_UNAVAILABLE')
  })

  test('for a caller who is not asked twice, from a budget of its own', async () => {
    const { find, calls } = createCounted()
    const keys = createTestedKeys(find)
    for (let at = 0; at < 50; at++) await outcomeOf(keys.look(headerOf(`unknown ${at}`)))
    await keys.runUntil(keys.load(headerOf('a'), true))
    expect(keys.find(headerOf('a'))).toHaveLength(1)
    const outcomes: string[] = []
    for (let at = 0; at < 50; at++) {
      outcomes.push(await outcomeOf(keys.runUntil(keys.load(headerOf(`junk ${at}`), true))))
    }
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(9)
    expect(calls).toHaveLength(20)
    await keys.advance(0.1)
    await keys.runUntil(keys.load(headerOf('b'), true))
    expect(keys.find(headerOf('b'))).toHaveLength(1)
  })

  test('once per cool-down for the same unknown kid', async () => {
    const { find, calls, store } = createCounted()
    const keys = createTestedKeys(find)
    expect(await keys.look(headerOf('c'))).toEqual([])
    store.set('c', { ...a.jwk, kid: 'c' })
    await keys.advance(29)
    expect(await keys.look(headerOf('c'))).toEqual([])
    expect(calls).toHaveLength(1)
    await keys.advance(1)
    expect(await keys.look(headerOf('c'))).toEqual(['c'])
  })

  test('a hundred times per cool-down, also if it has a key for every kid', async () => {
    let calls = 0
    const keys = createTestedKeys(async () => (calls++, bare))
    const outcomes: string[] = []
    for (let at = 0; at < 1000; at++) outcomes.push(await outcomeOf(keys.look(headerOf(`forged ${at}`))))
    expect(calls).toBe(100)
    expect(outcomes.lastIndexOf('ok')).toBe(99)
    expect(new Set(outcomes.slice(100))).toEqual(new Set(['KEYS_UNAVAILABLE']))
  })

  test('again for a key in use after ten minutes, however many unknown kids it has thrown for', async () => {
    const keys = createTestedKeys(async ({ kid }) => {
      if (kid === 'a') return a.jwk
      throw new Error('SigningKeyNotFoundError')
    })
    await keys.look(headerOf('a'))
    const [key] = keys.find(headerOf('a')) ?? []
    for (let round = 0; round < 30; round++) {
      for (let at = 0; at < 20; at++) await outcomeOf(keys.look(headerOf(`bad ${round} ${at}`)))
      // Requests with remembered tokens do nothing but this.
      expect(keys.isTrusted(key as never)).toBe(true)
      await keys.advance(30)
    }
    await until(() => keys.loaded.length === 2)
  })

  test('less often for a key that is in use than for one that is not', async () => {
    const { find, store } = createCounted()
    const kids = Array.from({ length: 150 }, (_item, at) => `k${at}`)
    for (const kid of kids) store.set(kid, { ...a.jwk, kid })
    const keys = createTestedKeys(find)
    await keys.look(headerOf('a'))
    const [key] = keys.find(headerOf('a')) ?? []
    for (const [at, kid] of kids.entries()) {
      if (at % 50 === 0) await keys.advance(30)
      expect(await keys.look(headerOf(kid))).toEqual([kid])
      expect(keys.isTrusted(key as never)).toBe(true)
    }
  })

  test('at once for a key that it had no longer, and has again after the cool-down', async () => {
    const { find, store } = createCounted()
    const keys = createTestedKeys(find)
    await keys.look(headerOf('a'))
    store.delete('a')
    await keys.advance(601)
    await until(() => keys.find(headerOf('a'))?.length === 0)
    store.set('a', a.jwk)
    await keys.advance(30)
    expect(await keys.look(headerOf('a'))).toEqual(['a'])
  })

  test('for as many known kids as there are; the hundred that were used last are remembered', async () => {
    const { find, calls, store } = createCounted()
    const kids = Array.from({ length: 101 }, (_item, at) => `k${at}`)
    for (const kid of kids) store.set(kid, { ...a.jwk, kid })
    const keys = createTestedKeys(find)
    for (const kid of kids.slice(0, 100)) expect(await keys.look(headerOf(kid))).toEqual([kid])
    const [first] = keys.find(headerOf('k0')) ?? []
    const [second] = keys.find(headerOf('k1')) ?? []
    keys.find(headerOf('k0'))
    for (const kid of kids.slice(2, 100)) keys.find(headerOf(kid))
    await keys.advance(30)
    expect(await keys.look(headerOf('k100'))).toEqual(['k100'])
    expect([first, second].map((key) => keys.isTrusted(key as never))).toEqual([true, false])
    expect(await keys.look(headerOf('k1'))).toEqual(['k1'])
    expect(calls).toHaveLength(102)
  })
})

describe('a function that', () => {
  test('throws or rejects is called again after a delay that doubles; known keys stay', async () => {
    for (const fail of [
      () => {
        throw new Error('database gone')
      },
      () => Promise.reject(new Error('database gone')),
    ]) {
      let answer: () => KeyAnswer | Promise<KeyAnswer> = fail
      let calls = 0
      const keys = createTestedKeys(() => {
        calls++
        return answer()
      })
      for (let second = 0; second < 4; second++) {
        await expect(keys.load(headerOf('a'))).rejects.toMatchObject({ code: 'KEYS_UNAVAILABLE' })
        expect(keys.find(headerOf('a'))).toBeNull()
        await keys.advance(1)
      }
      expect(calls).toBe(3)
      expect(messagesOf(keys.failed[0]?.cause)).toContain('database gone')
      answer = () => a.jwk
      await keys.advance(30)
      expect(await keys.look(headerOf('a'))).toEqual(['a'])
      answer = fail
      await keys.advance(601)
      expect(keys.find(headerOf('a'))).toHaveLength(1)
      await until(() => keys.failed.length === 4)
      expect(keys.find(headerOf('a'))).toHaveLength(1)
    }
  })

  test('never answers is given up after five seconds', async () => {
    const keys = createTestedKeys(() => new Promise(() => {}))
    const loading = outcomeOf(keys.load(headerOf('a')))
    await keys.advance('4999ms')
    expect(keys.failed).toHaveLength(0)
    await keys.advance('1ms')
    expect(await loading).toBe('KEYS_UNAVAILABLE')
  })
})
