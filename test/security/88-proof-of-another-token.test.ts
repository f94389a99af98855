import { expect } from 'vitest'
import { outcomeOf } from '../helpers/revocable.js'
import { describeAttacks, ownAttack } from './harness/attack.js'
import { encode } from './harness/forge.js'
import { createProver, createView, hashToken, openBound } from './harness/prover.js'

describeAttacks('a proof of another key or for another token (RFC 9449 §4.3 step 12, §11.9)', () => {
  ownAttack('no hash of the token, or that of another one', async () => {
    const { prove, call, accessToken, refreshToken } = await openBound()
    expect(await call(prove())).toBe('ok')
    const hash = hashToken(accessToken)
    for (const ath of [
      undefined,
      null,
      '',
      7,
      true,
      {},
      [hash],
      hash.toUpperCase(),
      hash.toLowerCase(),
      hash.slice(1),
      `${hash}=`,
      ` ${hash}`,
      `${hash}\0`,
      Buffer.from(hash, 'base64url').toString('hex'),
      Buffer.from(hash, 'base64url').toString('latin1'),
      hashToken(refreshToken),
      hashToken(`${accessToken} `),
      hashToken(`DPoP ${accessToken}`),
      hashToken(''),
      hashToken(accessToken.slice(0, accessToken.lastIndexOf('.'))),
      accessToken,
    ]) {
      expect(await call(prove({ claims: { ath } })), JSON.stringify(ath)).toBe('PROOF_INVALID')
    }
  })

  ownAttack('a proof of the key of somebody else', async () => {
    const { client, accessToken, call } = await openBound()
    const thief = createProver()
    expect(await call(thief.prove({ token: accessToken }))).toBe('PROOF_INVALID')
    // With the key of the client in its header, but not signed with it.
    expect(await call(thief.prove({ token: accessToken, header: { jwk: client.jwk } }))).toBe('PROOF_INVALID')
    expect(await call(client.prove({ token: accessToken, header: { jwk: thief.jwk } }))).toBe('PROOF_INVALID')
    expect(await call(thief.prove({ token: accessToken, header: { kid: client.jkt } }))).toBe('PROOF_INVALID')
    expect(await call(client.prove({ token: accessToken }))).toBe('ok')
  })

  ownAttack('a proof whose header, claims or signature come from another one', async () => {
    const { prove, call } = await openBound()
    const [header = '', claims = '', signature = ''] = prove().split('.')
    const [otherHeader = '', otherClaims = '', otherSignature = ''] = createProver().prove().split('.')
    const own = prove({ method: 'POST' }).split('.')
    for (const proof of [
      [otherHeader, claims, signature],
      [header, otherClaims, signature],
      [header, claims, otherSignature],
      [header, claims, own[2]],
      [header, own[1], signature],
      [header, claims, encode(Buffer.alloc(64))],
      [header, claims, encode(Uint8Array.from(Buffer.from(signature, 'base64url')).toReversed())],
      [header, claims, ''],
      [header, claims],
    ]) {
      expect(await call(proof.join('.'))).toBe('PROOF_INVALID')
    }
    expect(await call([header, claims, signature].join('.'))).toBe('ok')
  })

  ownAttack('one proof for two tokens of the key', async () => {
    const { prove, call, logIn } = await openBound()
    const { accessToken: other } = await logIn()
    const proof = prove()
    expect(await call(proof, { token: other })).toBe('PROOF_INVALID')
    expect(await call(proof)).toBe('ok')
    expect(await call(prove({ token: other }), { token: other })).toBe('ok')
  })

  ownAttack(
    'a cookie may lack the hash, which scripts cannot compute, but must not have a wrong one',
    async () => {
      const { prove, accessToken, refreshToken, tokens, logIn } = await openBound({
        config: { JWT_TOKEN_LOCATION: ['cookies', 'headers'], JWT_COOKIE_CSRF_PROTECT: false },
      })
      const withCookie = (token: string, proof: string) =>
        outcomeOf(
          tokens.accessTokenRequired(createView({ cookie: `access_token_cookie=${token}`, dpop: proof })),
        )
      expect(await withCookie(accessToken, prove())).toBe('ok')
      const without = prove({ claims: { ath: undefined } })
      expect(await withCookie(accessToken, without)).toBe('ok')
      // It was used up, also for another token of the key.
      expect(await withCookie((await logIn()).accessToken, without)).toBe('PROOF_REUSED')
      expect(await withCookie(accessToken, prove({ token: refreshToken }))).toBe('PROOF_INVALID')
      expect(await withCookie(accessToken, prove({ claims: { ath: null } }))).toBe('PROOF_INVALID')
      expect(await withCookie(accessToken, prove({ claims: { ath: '' } }))).toBe('PROOF_INVALID')
      expect(await withCookie(accessToken, createProver().prove())).toBe('PROOF_INVALID')
    },
  )

  ownAttack(
    'what was found out about a request, in a copy of it or in an object that inherits from it',
    async () => {
      const { prove, accessToken, refreshToken, tokens } = await openBound()
      const view = createView({ authorization: `DPoP ${accessToken}`, dpop: prove() })
      expect(await outcomeOf(tokens.accessTokenRequired(view))).toBe('ok')
      for (const [dpop, code] of [
        [null, 'PROOF_REQUIRED'],
        [view.header('dpop'), 'PROOF_REUSED'],
        [prove({ token: refreshToken }), 'PROOF_INVALID'],
        [createProver().prove({ token: accessToken }), 'PROOF_INVALID'],
      ] as const) {
        const header = (name: string) => (name === 'dpop' ? dpop : view.header(name))
        for (const copy of [
          { ...view, header },
          Object.assign(Object.create(view), { header }) as typeof view,
        ]) {
          expect(await outcomeOf(tokens.accessTokenRequired(copy))).toBe(code)
        }
      }
    },
  )
})
