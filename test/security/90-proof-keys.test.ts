import { generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto'
import { expect } from 'vitest'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { createRocaKey, toBytes, toInteger } from './harness/broken-rsa.js'
import { encode, keyPairOf, NOW, publicHalf } from './harness/forge.js'
import { toDer, toPem } from './harness/key-texts.js'
import {
  createProver,
  openBound,
  type ProofForgery,
  type Prover,
  PUBLIC_URL,
  thumbprint,
} from './harness/prover.js'
import { pad, toDigestInfo } from './harness/rsa-padding.js'

/** A login and a request with a bound token, both of which a forged proof must not pass. */
async function openDoors(client: Prover = createProver()) {
  const bound = await openBound({ client })
  const logIn = (forgery: ProofForgery): Promise<string> => {
    const proofOf = new Request(`${PUBLIC_URL}/`, { headers: { dpop: client.prove(forgery) } })
    return outcomeOf(bound.tokens.sessions.open({ uid: 'ada' }, { proofOf }))
  }
  expect(await logIn({})).toBe('ok')
  const refuse = async (forgery: ProofForgery, title = ''): Promise<void> => {
    expect(await bound.call(bound.prove(forgery)), title).toBe('PROOF_INVALID')
    // Nor does a new session get a key that was not proven.
    expect(await logIn(forgery), title).toBe('PROOF_INVALID')
  }
  return { ...bound, refuse }
}

const rsaProver = (modulusLength = 2048): Prover =>
  createProver('RS256', generateKeyPairSync('rsa', { modulusLength }).privateKey)

describeAttacks('a proof whose algorithm or key proves nothing (RFC 9449 §4.3 steps 5 to 7, §11.6)', () => {
  ownAttack('honest proofs of every algorithm pass, and no others', async () => {
    for (const algorithm of ['ES256', 'ES384', 'ES512', 'Ed25519', 'EdDSA', 'PS256', 'RS256']) {
      const { call, prove } = await openDoors(createProver(algorithm, keyPairOf(algorithm).privateKey))
      expect(await call(prove()), algorithm).toBe('ok')
    }
    for (const algorithm of ['RS384', 'RS512', 'PS384', 'PS512'] as const) {
      const rsa = createProver('PS256', keyPairOf('PS256').privateKey)
      const { refuse } = await openDoors(rsa)
      await refuse({ header: { alg: algorithm }, algorithm }, algorithm)
      const listed = await openBound({ client: rsa, dpop: { algorithms: [algorithm] } })
      const proof = { header: { alg: algorithm }, algorithm }
      expect(await listed.call(listed.prove(proof)), algorithm).toBe('ok')
      expect(await listed.call(listed.prove()), algorithm).toBe('PROOF_INVALID')
    }
  })

  ownAttack('none, and no signature', async () => {
    const { refuse } = await openDoors()
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', ' ES256', 'es256', 'ES256 ', 'ES256K', 'ES25６']) {
      await refuse({ header: { alg }, signature: '' }, alg)
      await refuse({ header: { alg } }, alg)
    }
    for (const alg of [undefined, null, 7, true, ['ES256'], { name: 'ES256' }]) {
      await refuse({ header: { alg } }, JSON.stringify(alg))
    }
    for (const alg of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
      await refuse({ header: { alg } }, alg)
  })

  ownAttack('a MAC with the public key as its secret', async () => {
    for (const client of [createProver(), rsaProver()]) {
      const { refuse } = await openDoors(client)
      const publicKey = publicHalf(client.privateKey)
      for (const algorithm of ['HS256', 'HS384', 'HS512']) {
        for (const key of [toPem(publicKey), toDer(publicKey), JSON.stringify(client.jwk), client.jkt, '']) {
          await refuse({ header: { alg: algorithm }, algorithm, key }, algorithm)
        }
        const k = encode('a-secret-that-everybody-can-read-in-the-header')
        const key = Buffer.from(k, 'base64url')
        for (const alg of [algorithm, client.algorithm]) {
          await refuse({ header: { alg, jwk: { kty: 'oct', k } }, algorithm, key }, alg)
          await refuse({ header: { alg, jwk: { ...client.jwk, k } }, algorithm, key }, alg)
        }
      }
    }
  })

  ownAttack('an algorithm that does not fit the key', async () => {
    for (const [algorithm, others] of [
      ['ES256', ['ES384', 'ES512', 'RS256', 'PS256', 'EdDSA', 'Ed25519']],
      ['RS256', ['ES256', 'EdDSA', 'PS256']],
      ['Ed25519', ['ES256', 'RS256']],
    ] as const) {
      const client = createProver(algorithm)
      const { refuse } = await openDoors(client)
      for (const alg of others) await refuse({ header: { alg } }, alg)
      for (const alg of others) await refuse({ header: { jwk: { ...client.jwk, alg } } }, alg)
    }
    // Both names of Ed25519 are names of the same proof.
    const { call, prove } = await openBound({ client: createProver('Ed25519') })
    expect(await call(prove({ header: { alg: 'EdDSA' } }))).toBe('ok')
  })

  ownAttack('an RSA key that can be broken', async () => {
    const { refuse } = await openDoors(rsaProver())
    for (const modulusLength of [1024, 2040]) {
      const weak = rsaProver(modulusLength)
      const sent = { key: weak.privateKey, header: { jwk: weak.jwk } }
      await refuse(sent, String(modulusLength))
    }
    const roca = createProver('RS256', createRocaKey().privateKey)
    await refuse({ key: roca.privateKey, header: { jwk: roca.jwk } }, 'ROCA')
  })

  ownAttack('an RSA exponent of one, an even one and one as long as the modulus', async () => {
    const client = rsaProver()
    const { call, prove, refuse } = await openDoors(client)
    const n = toInteger(Buffer.from(client.jwk.n ?? '', 'base64url'))
    for (const e of [0n, 1n, 2n, 2n ** 32n + 1n, 2n ** 64n + 1n, n - 2n, n - 1n, n, n + 2n, n * n]) {
      const jwk = { ...client.jwk, e: encode(toBytes(e)) }
      const header = JSON.stringify({ typ: 'dpop+jwt', alg: 'RS256', jwk })
      const claims = JSON.stringify({
        jti: `exponent-${e}`.slice(0, 64),
        htm: 'GET',
        htu: `${PUBLIC_URL}/`,
        iat: NOW,
      })
      // With an exponent of one, a text is its own signature.
      const signature = pad(toDigestInfo('sha256', `${encode(header)}.${encode(claims)}`))
      await refuse({ header, claims, signature }, `${e}`.slice(0, 20))
      await refuse({ header }, `${e}`.slice(0, 20))
    }
    for (const modulus of [0n, 1n, 2n ** 2048n, 2n ** 2047n, n + 1n, n * 2n]) {
      await refuse({ header: { jwk: { ...client.jwk, n: encode(toBytes(modulus)) } } }, 'modulus')
    }
    expect(await call(prove())).toBe('ok')
  })

  ownAttack('a point that is not on its curve, or on another one', async () => {
    const client = createProver()
    const { refuse } = await openDoors(client)
    const { x = '', y = '' } = client.jwk
    const bytes = (fill: number, length = 32): string => encode(Buffer.alloc(length, fill))
    for (const point of [
      { x: y, y: x },
      { x: bytes(0), y: bytes(0) },
      { x: bytes(0xff), y: bytes(0xff) },
      { x: bytes(1), y: bytes(2) },
      { x: '', y: '' },
      { x, y: undefined },
      { x: undefined, y },
      { x, y: '' },
      { x: `${x}A`, y },
      { x: bytes(1, 500), y },
      { x: 7, y },
      { x: [x], y },
      { x: { toString: x }, y },
      { x: null, y },
      { x: '\0', y: '\0' },
      { crv: 'P-384' },
      { crv: 'P-521' },
      { crv: 'secp256k1' },
      { crv: 'p-256' },
      { crv: 'Ed25519' },
      { crv: undefined },
      { crv: null },
      { crv: ['P-256'] },
      { crv: '__proto__' },
    ]) {
      await refuse({ header: { jwk: { ...client.jwk, ...point } } }, JSON.stringify(point).slice(0, 60))
    }
    const { privateKey: key, publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
    const { kty, x: otherX, y: otherY } = publicKey.export({ format: 'jwk' })
    for (const crv of ['secp256k1', 'P-256', 'P-256K']) {
      await refuse({ header: { jwk: { kty, crv, x: otherX, y: otherY } }, key }, crv)
      await refuse({ header: { alg: 'ES256K', jwk: { kty, crv, x: otherX, y: otherY } }, key }, crv)
    }
  })

  ownAttack('an Ed25519 key of small order, with which everybody signs', async () => {
    const client = createProver('Ed25519')
    const { refuse } = await openDoors(client)
    const points = [
      '0100000000000000000000000000000000000000000000000000000000000000',
      'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
      '0000000000000000000000000000000000000000000000000000000000000000',
      '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
      'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
      'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
      'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    ].map((point) => Buffer.from(point, 'hex'))
    const signature = Buffer.concat([points[0] as Buffer, Buffer.alloc(32)])
    for (const point of points) {
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: encode(point) }
      for (const alg of ['Ed25519', 'EdDSA'])
        await refuse({ header: { alg, jwk }, signature }, point.toString('hex'))
    }
    for (const curve of ['ed448', 'x25519', 'x448'] as const) {
      const pair = generateKeyPairSync(curve as 'ed448')
      const jwk = pair.publicKey.export({ format: 'jwk' })
      const forged = curve === 'ed448' ? sign(null, Buffer.from('a'), pair.privateKey) : Buffer.alloc(64)
      for (const alg of ['Ed25519', 'EdDSA', 'Ed448'])
        await refuse({ header: { alg, jwk }, signature: forged }, curve)
    }
  })

  ownAttack('a private key in the header, whose owner shows it to everybody', async () => {
    for (const algorithm of ['ES256', 'RS256', 'Ed25519']) {
      const client = createProver(algorithm)
      const { refuse } = await openDoors(client)
      const jwk = client.privateKey.export({ format: 'jwk' })
      await refuse({ header: { jwk } }, algorithm)
      for (const name of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']) {
        for (const value of ['AQ', '', null, 0, []]) {
          await refuse({ header: { jwk: { ...client.jwk, [name]: value } } }, `${algorithm} ${name}`)
        }
      }
    }
  })

  ownAttack('no key, or something else where the key should be', async () => {
    const client = createProver()
    const { refuse } = await openDoors(client)
    const publicKey = publicHalf(client.privateKey)
    const { kty, crv, x, y } = client.jwk
    for (const jwk of [
      undefined,
      null,
      '',
      0,
      true,
      [],
      [client.jwk],
      {},
      client.jkt,
      JSON.stringify(client.jwk),
      toPem(publicKey),
      encode(toDer(publicKey)),
      { keys: [client.jwk] },
      { jwk: client.jwk },
      { crv, x, y },
      { kty: 'ec', crv, x, y },
      { kty: ['EC'], crv, x, y },
      { kty: null, crv, x, y },
      { kty: 'oct', crv, x, y },
      { kty: 'RSA', crv, x, y },
      { kty: 'OKP', crv, x, y },
      { kty: 'EC', n: x, e: y },
      { kty: 'AKP', alg: 'ML-DSA-44', pub: x },
      { kty: '__proto__', crv, x, y },
      { kty, crv, x, y, use: 'enc' },
      { kty, crv, x, y, use: null },
      { kty, crv, x, y, key_ops: ['sign'] },
      { kty, crv, x, y, key_ops: [] },
      { kty, crv, x, y, key_ops: 'verify' },
      { kty, crv, x, y, alg: 'ES384' },
      { kty, crv, x, y, alg: null },
    ]) {
      await refuse({ header: { jwk } }, JSON.stringify(jwk)?.slice(0, 60))
    }
  })

  ownAttack('a key whose members are inherited or have names of JavaScript', async () => {
    const client = createProver()
    const { call, prove, refuse, accessToken } = await openDoors(client)
    const { kty, crv, x, y } = client.jwk
    const members = `"kty":"${kty}","crv":"${crv}","x":"${x}","y":"${y}"`
    const toHeader = (jwk: string): string => `{"typ":"dpop+jwt","alg":"ES256","jwk":${jwk}}`
    for (const jwk of [`{"__proto__":{${members}}}`, `{"constructor":{"prototype":{${members}}}}`]) {
      await refuse({ header: toHeader(jwk) }, jwk.slice(0, 20))
    }
    // They are no part of the key.
    const others = '"__proto__":{"d":"AQ","kty":"oct"},"toJSON":1,"constructor":null,"then":{}'
    expect(await call(prove({ header: toHeader(`{${members},${others}}`) }))).toBe('ok')
    expect(Object.keys(Object.prototype)).toEqual([])
    // Another spelling of the coordinates is the same key, and one that is none does not become one.
    const thief = createProver()
    const both = { ...thief.jwk, x: [thief.jwk.x], X: x, ['x\0']: x }
    expect(await call(thief.prove({ token: accessToken, header: { jwk: both } }))).toBe('PROOF_INVALID')
  })

  ownAttack('the thumbprint of another spelling of the key', async () => {
    const client = rsaProver()
    const { call, prove, accessToken } = await openDoors(client)
    const n = Buffer.from(client.jwk.n ?? '', 'base64url')
    const spellings: readonly JsonWebKey[] = [
      { ...client.jwk, n: encode(Buffer.concat([Buffer.alloc(1), n])) },
      { ...client.jwk, e: encode(Buffer.from([0, 1, 0, 1])) },
      { ...client.jwk, n: `${client.jwk.n}=` },
    ]
    for (const jwk of spellings) {
      expect(thumbprint(jwk)).not.toBe(client.jkt)
      // Refused, or known as the key that it is.
      expect(['ok', 'PROOF_INVALID']).toContain(await call(prove({ header: { jwk } })))
    }
    const thief = rsaProver()
    const forged = thief.prove({ token: accessToken, header: { jwk: { ...thief.jwk, n: client.jwk.n } } })
    expect(await call(forged)).toBe('PROOF_INVALID')
    expect(await call(prove())).toBe('ok')
  })

  ownAttack('a header that was seen before, behind which everything else is new', async () => {
    const client = createProver()
    const { call, prove, refuse, accessToken, create, createRequest } = await openDoors(client)
    const thief = createProver()
    const honest = { header: JSON.stringify({ typ: 'dpop+jwt', alg: 'ES256', jwk: client.jwk }) }
    for (let times = 0; times < 3; times++) {
      expect(await call(prove(honest))).toBe('ok')
      await refuse({ ...honest, key: thief.privateKey })
      await refuse({ ...honest, signature: '' })
      await refuse({ ...honest, claims: { htm: 'POST' } })
      await refuse({ ...honest, claims: { iat: NOW - 61 } })
      expect(await call(prove({ ...honest, claims: { ath: undefined } }))).toBe('PROOF_INVALID')
      expect(await call(thief.prove({ token: accessToken, header: honest.header }))).toBe('PROOF_INVALID')
    }
    // Another manager allows other algorithms.
    const strict = create({ algorithms: ['ES384'] })
    const request = createRequest(prove(honest))
    expect(await outcomeOf(strict.accessTokenRequired(request))).toBe('PROOF_INVALID')
  })
})
