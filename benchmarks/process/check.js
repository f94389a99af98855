import { isDeepStrictEqual } from 'node:util'
import { jwtVerify } from 'jose'
import { tamper } from '../tokens.js'

/**
 * Throws unless a verifier accepts a good token, says what is in it, and refuses a bad one and none.
 *
 * @param {import('./verifiers.js').Verifier} verifier
 * @param {string} token
 */
export async function assertVerifies({ name, verify, prepare }, token) {
  const call = async (given) => verify(prepare === undefined ? given : prepare(given))
  const claims = await call(token)
  const isGood = prepare === undefined ? isDeepStrictEqual({ ...claims }, readClaims(token)) : claims === true
  if (!isGood) throw new Error(`${name} does not accept a good token`)
  for (const bad of [tamper(token), '']) {
    const accepted = await call(bad).catch(() => false)
    if (accepted) throw new Error(`${name} accepts a bad token`)
  }
}

/**
 * Throws unless a signer makes tokens that verify, with the claims that ours have. `jose` is the judge: ours refuses
 * half of the ES256 signatures of others, those with a high s.
 *
 * @param {import('./signers.js').Signer} signer
 * @param {ReturnType<typeof import('../tokens.js').createKeys>} keys
 * @param {string} own A token of ours.
 */
export async function assertSigns({ name, create }, { algorithm, publicKey }, own) {
  const token = String(await create('user-0000000'))
  await jwtVerify(token, publicKey, { algorithms: [algorithm] })
  const [made, wanted] = [token, own].map((text) => Object.keys(readClaims(text)).toSorted())
  if (!isDeepStrictEqual(made, wanted)) throw new Error(`${name} makes other claims: ${made.join(', ')}`)
}

function readClaims(token) {
  return JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
}
