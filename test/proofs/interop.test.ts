import { generateKeyPairSync } from 'node:crypto'
import * as DPoP from 'dpop'
import * as oauth from 'oauth4webapi'
import { beforeAll, describe, expect, test } from 'vitest'
import { dpop } from '../../packages/client/src/dpop.js'
import { createMetadataRoutes } from '../../packages/issuers/src/index.js'
import { TokenConfig, type TokenError, TokenManager } from '../../packages/tokenlib/src/index.js'
import { toErrorResponse } from '../../packages/tokenlib/src/requests/error-response.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { openToken } from '../helpers/manager.js'
import { outcomeOf } from '../helpers/revocable.js'

const ISSUER = 'https://id.example'
const API = 'https://api.example'
const NOTES = `${API}/notes?of=ada`
const ALGORITHMS = ['ES256', 'Ed25519', 'PS256', 'RS256'] as const

/** A manager on the clock of the system, by which the other libraries go, and how `oauth4webapi` checks its tokens. */
function open(algorithm: 'ES256' | 'RS256' = 'ES256', nonceSecret?: string) {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  const config = new TokenConfig({
    JWT_ALGORITHM: algorithm,
    JWT_PRIVATE_KEY: privateKey,
    JWT_ENCODE_ISSUER: ISSUER,
    JWT_ENCODE_AUDIENCE: API,
    JWT_DECODE_AUDIENCE: API,
    JWT_ACCESS_TOKEN_TYP: 'at+jwt',
    JWT_CLIENT_ID: 'web',
  })
  const tokens = new TokenManager({
    config,
    store: createMemoryStore(),
    dpop: { publicUrl: API, ...(nonceSecret !== undefined && { nonceSecret }) },
  })
  const metadata = createMetadataRoutes(tokens, {
    issuer: ISSUER,
    server: { response_types_supported: ['none'] },
  })
  const http = {
    [oauth.customFetch]: async (url: string, init: object) =>
      (await metadata.handle(new Request(url, init))) ?? new Response(null, { status: 404 }),
  }
  const validate = async (request: Request): Promise<oauth.JWTAccessTokenClaims> => {
    const issuer = new URL(ISSUER)
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...http })
    const server = await oauth.processDiscoveryResponse(issuer, found)
    return oauth.validateJwtAccessToken(server, request, API, { requireDPoP: true, ...http })
  }
  return { tokens, validate }
}

/** Makes the request that a client sends: for a token, or without one for a login. */
type Send = (token: string | null, nonce?: string) => Promise<Request>

/** The clients whose proofs are tried. */
async function createClients(): Promise<readonly (readonly [name: string, send: Send])[]> {
  const others = ALGORITHMS.map(async (algorithm) => {
    const keys = await DPoP.generateKeyPair(algorithm)
    const send: Send = async (token, nonce) => {
      const proof = await DPoP.generateProof(keys, `${API}/notes`, 'GET', nonce, token ?? undefined)
      return new Request(NOTES, {
        headers: { dpop: proof, ...(token !== null && { authorization: `DPoP ${token}` }) },
      })
    }
    return [`dpop ${algorithm}`, send] as const
  })
  const prove = dpop({ storage: 'memory' })
  const own: Send = async (token) => {
    const request = new Request(NOTES, token === null ? {} : { headers: { authorization: `DPoP ${token}` } })
    let sent = request
    await prove(request, {
      send: async (attempt) => {
        sent = attempt
        return new Response()
      },
      clock: Date.now,
      mayRepeat: false,
      isSafe: true,
      mayGoOn: () => true,
    })
    return sent
  }
  return [...(await Promise.all(others)), ['our browser client', own]]
}

let clients: Awaited<ReturnType<typeof createClients>>
beforeAll(async () => void (clients = await createClients()))

describe('proofs of others', () => {
  test('open sessions and pass, here and at oauth4webapi, with tokens of every asymmetric algorithm', async () => {
    for (const algorithm of ['ES256', 'RS256'] as const) {
      const { tokens, validate } = open(algorithm)
      for (const [name, send] of clients) {
        const pair = await tokens.sessions.open({ uid: 'ada' }, { proofOf: await send(null) })
        const request = await send(pair.accessToken)
        expect(await outcomeOf(tokens.accessTokenRequired(new Request(request))), name).toBe('ok')
        expect(await outcomeOf(tokens.accessTokenRequired(new Request(request))), name).toBe('PROOF_REUSED')
        const { cnf, sub } = await validate(request)
        expect({ cnf, sub }).toEqual({ cnf: openToken(pair.accessToken).claims['cnf'], sub: 'ada' })
        expect(await outcomeOf(tokens.sessions.refresh(await send(pair.refreshToken))), name).toBe('ok')
      }
    }
  })

  test('of another key are refused by both', async () => {
    const { tokens, validate } = open()
    const [[, send], [, thief]] = clients as [readonly [string, Send], readonly [string, Send]]
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { proofOf: await send(null) })
    const stolen = await thief(accessToken)
    expect(await outcomeOf(tokens.accessTokenRequired(new Request(stolen)))).toBe('PROOF_INVALID')
    await expect(validate(stolen)).rejects.toThrow(oauth.OperationProcessingError)
    const bearer = new Request(NOTES, { headers: { authorization: `Bearer ${accessToken}` } })
    expect(await outcomeOf(tokens.accessTokenRequired(bearer))).toBe('PROOF_REQUIRED')
    await expect(validate(bearer)).rejects.toThrow()
  })

  test('carry the nonce of a refusal', async () => {
    const { tokens, validate } = open('ES256', 'a-secret-for-nonces-of-at-least-32-bytes')
    const [[, send]] = clients as [readonly [string, Send]]
    const refused = tokens.sessions.open({ uid: 'ada' }, { proofOf: await send(null) })
    const error: unknown = await refused.catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'PROOF_NONCE_REQUIRED' })
    const { nonce } = (error as { dpop: { nonce: string } }).dpop
    const { accessToken } = await tokens.sessions.open({ uid: 'ada' }, { proofOf: await send(null, nonce) })
    const request = await send(accessToken, nonce)
    expect(await outcomeOf(tokens.accessTokenRequired(new Request(request)))).toBe('ok')
    expect(await validate(request)).toMatchObject({ sub: 'ada' })
  })

  test('of oauth4webapi pass, with the nonce that it has read from a response', async () => {
    const { tokens } = open('ES256', 'a-secret-for-nonces-of-at-least-32-bytes')
    const handle = oauth.DPoP({}, await oauth.generateKeyPair('ES256'))
    const outcomes: string[] = []
    let token = ''
    const answer = async (url: string, init: RequestInit): Promise<Response> => {
      const request = new Request(url, init)
      const run =
        token === ''
          ? tokens.sessions.open({ uid: 'ada' }, { proofOf: request })
          : tokens.accessTokenRequired(request)
      try {
        const value = await run
        outcomes.push('ok')
        token = (value as { accessToken?: string }).accessToken ?? token
        return new Response()
      } catch (error) {
        const { status, headers: challenge } = toErrorResponse(error as TokenError)
        outcomes.push((error as TokenError).code)
        return new Response(null, { status, headers: challenge })
      }
    }
    const send = () =>
      oauth.protectedResourceRequest(token || 'none', 'GET', new URL(NOTES), undefined, undefined, {
        DPoP: handle,
        [oauth.customFetch]: answer as never,
      })
    await expect(send()).rejects.toSatisfy(oauth.isDPoPNonceError)
    await send()
    await send()
    expect(outcomes).toEqual(['PROOF_NONCE_REQUIRED', 'ok', 'ok'])
  })
})
