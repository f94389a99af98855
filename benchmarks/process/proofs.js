import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import * as oauth from 'oauth4webapi'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createMemoryStore } from 'tokenlib/memory'

const URL_OF_API = 'https://api.example/notes'
const ISSUER = 'https://id.example'
const AUDIENCE = 'https://api.example'
// Proofs are signed for each batch, which is not measured: every one of them is accepted once.
const BATCH = 200

/**
 * A request with a bound ES256 token and a new ES256 proof. Ours also remembers the proof, in the memory store, and checks
 * whether the token is revoked; `oauth4webapi` does neither.
 *
 * @returns {{ title: string, prepare: () => Promise<object> }[]}
 */
export function listProofGroups() {
  return [{ title: 'guard ES256, DPoP proofs', prepare }]
}

async function prepare() {
  const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const prove = createProver()
  const manager = createManager(keys.privateKey)
  const { accessToken } = await manager.sessions.open(
    { uid: 'user-0000000' },
    { proofOf: new Request(URL_OF_API, { headers: { dpop: prove(null) } }) },
  )
  const cold = createManager(keys.privateKey, { JWT_VERIFIED_CACHE_SIZE: 0 })
  const createRequest = () =>
    new Request(URL_OF_API, { headers: { authorization: `DPoP ${accessToken}`, dpop: prove(accessToken) } })
  const contestants = [
    { name: 'tokenlib', call: (request) => manager.accessTokenRequired(request) },
    { name: 'tokenlib, new tokens', call: (request) => cold.accessTokenRequired(request) },
    { name: 'oauth4webapi', call: createOauth(keys.publicKey, accessToken) },
  ]
  return {
    contestants: contestants.map((contestant) => ({ ...contestant, isAsync: true })),
    async check({ name, call }) {
      const { sub } = await call(createRequest())
      const other = new Request(createRequest(), { method: 'DELETE' })
      const isRefused = await call(other).then(
        () => false,
        () => true,
      )
      if (sub !== 'user-0000000' || !isRefused) throw new Error(`${name} does not check proofs`)
    },
    toCall: ({ call }) => [call, () => Array.from({ length: BATCH }, createRequest)],
  }
}

function createManager(privateKey, fields = {}) {
  const config = new TokenConfig({
    JWT_ALGORITHM: 'ES256',
    JWT_PRIVATE_KEY: privateKey,
    JWT_ENCODE_ISSUER: ISSUER,
    JWT_DECODE_ISSUER: ISSUER,
    JWT_ENCODE_AUDIENCE: AUDIENCE,
    JWT_DECODE_AUDIENCE: AUDIENCE,
    JWT_ACCESS_TOKEN_TYP: 'at+jwt',
    JWT_ACCESS_TOKEN_EXPIRES: '1d',
    JWT_CLIENT_ID: 'web',
    ...fields,
  })
  return new TokenManager({ config, store: createMemoryStore(), dpop: { publicUrl: AUDIENCE } })
}

function createOauth(publicKey, token) {
  const { kid } = JSON.parse(Buffer.from(token.split('.')[0], 'base64url').toString())
  const server = { issuer: ISSUER, jwks_uri: `${ISSUER}/jwks` }
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' }]
  const options = { requireDPoP: true, [oauth.customFetch]: async () => Response.json({ keys }) }
  return (request) => oauth.validateJwtAccessToken(server, request, AUDIENCE, options)
}

function createProver() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
  const header = encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty, crv, x, y } })
  return (token) => {
    const ath = token === null ? {} : { ath: createHash('sha256').update(token).digest('base64url') }
    const iat = Math.floor(Date.now() / 1000)
    const input = `${header}.${encode({ jti: randomUUID(), htm: 'GET', htu: URL_OF_API, iat, ...ath })}`
    const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    return `${input}.${signature.toString('base64url')}`
  }
}

function encode(value) {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
