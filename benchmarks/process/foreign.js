import { sign, verify } from 'node:crypto'
import { createServer } from 'node:http'
import { JwtVerifier } from 'aws-jwt-verify'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { trustIssuer } from '@tokenlib/issuers'
import { TokenConfig, TokenManager } from 'tokenlib'
import { createKeys, tamper, toNewStrings, toSubject } from '../tokens.js'
import { internalsOf } from 'tokenlib/kit'

const ISSUER = 'https://id.example/'
const AUDIENCE = 'https://api.example'
const KID = 'a-key-of-the-provider'
// It takes seconds to sign a thousand with RSA.
const COUNT = 200

/**
 * Verifying the RS256 access tokens of an identity provider, whose keys everybody has fetched from the same URL.
 *
 * @returns {{ title: string, prepare: () => Promise<object> }[]}
 */
export function listForeignGroups() {
  let made = null
  const get = () => (made ??= createProvider())
  return [
    {
      title: 'verify foreign RS256 cold',
      prepare: async () => toGroup(await get(), { isRemembering: false }),
    },
    {
      title: 'verify foreign RS256 repeated',
      prepare: async () => toGroup(await get(), { isRemembering: true }),
    },
  ]
}

// Nobody asks for the keys during a measurement: all of them fetch once and keep what they got for minutes.
async function toGroup({ url, keys, tokens }, { isRemembering }) {
  const contestants = [
    ...(isRemembering ? [] : [createFloor(keys)]),
    await createOwn(url, isRemembering ? {} : { JWT_VERIFIED_CACHE_SIZE: 0 }),
    createJose(url),
    await createAws(url, keys),
  ]
  return {
    contestants,
    check: (contestant) => assertVerifies(contestant, tokens[0]),
    toCall: ({ verify: call, prepare }) => [
      call,
      () => (prepare === undefined ? toNewStrings(tokens) : tokens.map(prepare)),
    ],
  }
}

async function createOwn(url, fields) {
  const manager = new TokenManager({
    config: new TokenConfig(fields),
    issuers: [
      trustIssuer({ issuer: ISSUER, audience: AUDIENCE, keys: { jwksUri: url, allowPrivateNetwork: true } }),
    ],
  })
  await manager.ready()
  return { name: 'tokenlib', verify: (token) => internalsOf(manager).verifyWithoutRevocation(token) }
}

function createJose(url) {
  const keySet = createRemoteJWKSet(new URL(url))
  const options = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['RS256'] }
  return {
    name: 'jose (remote key set)',
    isAsync: true,
    verify: async (token) => (await jwtVerify(token, keySet, options)).payload,
  }
}

// It fetches over https only: it is given the keys, as its documentation shows for a start without delay.
async function createAws(url) {
  const verifier = JwtVerifier.create({ issuer: ISSUER, audience: AUDIENCE, jwksUri: `${ISSUER}keys` })
  verifier.cacheJwks(await (await fetch(url)).json())
  return { name: 'aws-jwt-verify', verify: (token) => verifier.verifySync(token) }
}

function createFloor({ publicKey }) {
  return {
    name: 'node:crypto',
    prepare: (token) => {
      const end = token.lastIndexOf('.')
      return { input: token.slice(0, end), signature: Buffer.from(token.slice(end + 1), 'base64url') }
    },
    verify: ({ input, signature }) => verify('sha256', Buffer.from(input), publicKey, signature),
  }
}

// A provider that publishes its key, and tokens in the form of Auth0.
async function createProvider() {
  const keys = createKeys('RS256')
  const jwk = { ...keys.publicKey.export({ format: 'jwk' }), kid: KID, alg: 'RS256', use: 'sig' }
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  // The run ends although it listens.
  server.unref()
  const tokens = Array.from({ length: COUNT }, (_, number) => createToken(keys.privateKey, number))
  return { url: `http://127.0.0.1:${server.address().port}/jwks`, keys, tokens: toNewStrings(tokens) }
}

function createToken(privateKey, number) {
  const now = Math.floor(Date.now() / 1000)
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const input = [
    encode({ alg: 'RS256', typ: 'JWT', kid: KID }),
    encode({
      iss: ISSUER,
      sub: toSubject(number),
      aud: [AUDIENCE, `${ISSUER}userinfo`],
      iat: now,
      exp: now + 7200,
      scope: 'openid profile read:notes',
      azp: 'K1AUPhZq8mRi0Q0pjhkfu1D7y6KjDQja',
    }),
  ].join('.')
  return `${input}.${sign('sha256', Buffer.from(input), privateKey).toString('base64url')}`
}

async function assertVerifies({ name, verify: call, prepare }, token) {
  const open = async (given) => call(prepare === undefined ? given : prepare(given))
  const answer = await open(token)
  if (prepare === undefined ? answer.sub !== toSubject(0) : answer !== true) {
    throw new Error(`${name} does not accept a good token`)
  }
  const accepted = await open(tamper(token)).catch(() => false)
  if (accepted) throw new Error(`${name} accepts a bad token`)
}
