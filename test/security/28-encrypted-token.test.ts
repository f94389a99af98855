import { expect } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { attack, describeAttacks, ownAttack } from './harness/attack.js'
import { encrypt } from './harness/encrypt.js'
import { CLAIMS, encode, forge, keyPairOf, SECRET } from './harness/forge.js'
import { openAs } from './harness/keys-for.js'

const TEXT = JSON.stringify(CLAIMS)
const UNSIGNED = `${encode({ alg: 'none', typ: 'JWT' })}.${encode(CLAIMS)}.`

describeAttacks('an encrypted token where a signed one is due (CVE-2023-51774, CVE-2026-29000)', () => {
  attack('claims encrypted to the public key of the verifier', async (lab) => {
    const { publicKey } = keyPairOf('RS256')
    const verifier = await openAs(lab, 'RS256')
    await verifier.refuses(encrypt(TEXT, publicKey))
    await verifier.refuses(encrypt(UNSIGNED, publicKey, { cty: 'JWT' }))
    await verifier.refuses(encrypt(forge(), publicKey, { cty: 'JWT' }))
  })

  attack('claims encrypted with the secret of the verifier', async ({ open }) => {
    const key = SECRET.slice(0, 32)
    const verifier = await open({ algorithm: 'HS256', key }, forge({ key }))
    await verifier.refuses(encrypt(TEXT, key))
    await verifier.refuses(encrypt(UNSIGNED, key, { cty: 'JWT' }))
    await verifier.refuses(encrypt(forge({ key }), key, { cty: 'JWT' }))
  })

  attack('the header of an encrypted token on a signed one', async ({ open }) => {
    const verifier = await open({ algorithm: 'HS256', key: SECRET }, forge())
    for (const alg of ['dir', 'A256KW', 'A256GCMKW', 'RSA-OAEP', 'RSA1_5', 'ECDH-ES', 'PBES2-HS256+A128KW']) {
      await verifier.refuses(forge({ header: { alg, enc: 'A256GCM', typ: 'JWT' } }))
    }
  })

  attack('parts of an encrypted token', async (lab) => {
    const verifier = await openAs(lab, 'RS256')
    const segments = encrypt(TEXT, keyPairOf('RS256').publicKey).split('.')
    for (let start = 0; start < 5; start++) {
      for (let end = start + 1; end <= 5; end++) await verifier.refuses(segments.slice(start, end).join('.'))
    }
  })

  ownAttack('enc, zip or cty in a token that is signed well', async () => {
    const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: SECRET }) })
    const token = (members: object) => forge({ header: { alg: 'HS256', typ: 'JWT', ...members } })
    await tokens.verify(token({}))
    for (const members of [
      { enc: 'A256GCM' },
      { enc: null },
      { zip: 'DEF' },
      { zip: '' },
      { cty: 'JWT' },
      { cty: 'jwt' },
    ]) {
      await expect(tokens.verify(token(members))).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
    }
  })
})
