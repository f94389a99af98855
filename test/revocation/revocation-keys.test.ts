import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isRevokedBy, revocationKeys, toStoredId } from '../../packages/tokenlib/src/revocation/revocation.js'

test('a plain id is kept as it is', () => {
  for (const id of ['', 'ada', 'a b', '~!@#$%^&*()', 'x'.repeat(128)]) expect(toStoredId(id)).toBe(id)
})

test('any other id becomes a digest that fits everywhere', () => {
  for (const id of ['jörg', 'x'.repeat(129), 'a\0', 'a\n', '漢字', '\ud800', 'sha256:abc'])
    expect(toStoredId(id)).toMatch(/^sha256:[\w-]{43}$/)
})

test('two different ids never become the same one', () => {
  // Any code units, also halves of a character. A string of fast-check first builds tables, for a second.
  const text = fc.array(fc.nat(0xffff), { maxLength: 200 }).map((codes) => String.fromCharCode(...codes))
  fc.assert(
    fc.property(text, text, (one, other) => (one === other) === (toStoredId(one) === toStoredId(other))),
    { numRuns: 100 },
  )
  const broken = ['\ud800', '\ud801', '\udc00', '�', '??']
  expect(new Set(broken.map(toStoredId)).size).toBe(broken.length)
  // What looks like a digest is no way to another's.
  expect(toStoredId(toStoredId('jörg'))).not.toBe(toStoredId('jörg'))
})

test('a token is asked about by everything it can be revoked by', () => {
  const payload = { sub: 'ada', type: 'access' as const }
  const token = { subjects: ['ada'], kids: ['k1'], source: { revokedBy: [null] } }
  expect(revocationKeys({ ...token, payload })).toEqual([
    { kind: 'all', id: '' },
    { kind: 'key', id: 'k1' },
    { kind: 'user', id: 'ada' },
  ])
  expect(revocationKeys({ ...token, payload: { ...payload, sid: 's', jti: 'j' } }).slice(3)).toEqual([
    { kind: 'session', id: 's' },
    { kind: 'token', id: 'j' },
  ])
})

test('a key list that two sources share names each issuer', () => {
  const kids = ['k1']
  const toKeys = (revokedBy: readonly (string | null)[]) =>
    revocationKeys({ payload: { sub: 'ada', type: 'access' }, subjects: [], kids, source: { revokedBy } })
  const own = toKeys([null])
  const foreign = toKeys(['https://issuer.example'])
  expect(own).toContainEqual({ kind: 'key', id: 'k1' })
  expect(foreign).not.toContainEqual({ kind: 'key', id: 'k1' })
  expect(toKeys([null])).toEqual(own)
})

test('a token that started at the very moment of a revocation is revoked', () => {
  expect(isRevokedBy([undefined, 1000], 1000)).toBe(true)
  expect(isRevokedBy([undefined, 1000], 1001)).toBe(false)
  expect(isRevokedBy([undefined, undefined], 0)).toBe(false)
  expect(isRevokedBy([0], 0)).toBe(true)
})
