import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import type { Hono } from 'hono'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { trustIssuer } from '../../packages/issuers/src/index.js'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import type { DpopOptions } from '../../packages/tokenlib/src/kit.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import {
  type AuthorizationServer,
  authorize,
  createSigningKey,
  startAuthorizationServer,
} from '../issuers/authorization-server.js'
import { createDpopFetch } from './dpop-fetch.js'

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

interface Recipe {
  readonly createMcpApp: (
    tokens: TokenManager,
    options: { readonly issuer: string; readonly resource: string },
  ) => Hono
}

// The code of the page.
const { createMcpApp } = await importRecipe('docs/recipes/mcp.md')

async function importRecipe(page: string): Promise<Recipe> {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const code = readFileSync(`${root}${page}`, 'utf8')
  const blocks = Array.from(code.matchAll(/^```ts\n([^]*?)^```/gm), ([, block]) => block)
  mkdirSync(`${root}build/recipes`, { recursive: true })
  const file = `${root}build/recipes/mcp.ts`
  writeFileSync(file, `${blocks.join('\n')}\nexport { createMcpApp }\n`)
  return (await import(/* @vite-ignore */ file)) as Recipe
}

let provider: AuthorizationServer
beforeAll(async () => {
  provider = await startAuthorizationServer([createSigningKey('k1')], undefined, {
    // What a client may register with. It can ask for the other scopes of a resource later.
    scopes: ['openid', 'notes:read'],
    // The only algorithm that it has a key for.
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    pkce: { required: () => true },
    features: {
      registration: { enabled: true },
      dPoP: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // One audience for each resource, as RFC 8707 wants it.
        getResourceServerInfo: (_context, resource) => ({
          scope: 'notes:read notes:write',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
})
afterAll(() => provider.stop())

/** The server of the page, on a port of its own. */
async function startServer(dpop?: Partial<DpopOptions>) {
  let answer: (request: Request) => Response | Promise<Response> = () => Response.error()
  const server = serve({
    fetch: (request) => answer(request),
    port: 0,
    hostname: '127.0.0.1',
    overrideGlobalObjects: false,
  })
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const resource = `${origin}/mcp`
  const { issuer } = provider
  const keys = { jwksUri: `${issuer}/jwks`, allowPrivateNetwork: true }
  const tokens = new TokenManager({
    config: new TokenConfig(),
    store: createMemoryStore(),
    issuers: [trustIssuer({ issuer, audience: resource, profile: 'at+jwt', keys })],
    ...(dpop && { dpop: { publicUrl: origin, ...dpop } }),
  })
  answer = createMcpApp(tokens, { issuer, resource }).fetch
  return { tokens, resource }
}

const REDIRECT_URI = 'https://assistant.example/callback'

/** The client of the SDK, whose user logs in without being asked. */
function createAssistant(resource: string, user: string, send: Fetch = fetch) {
  const seen: { method: string; url: string; status: number; challenge: string | null }[] = []
  let client: OAuthClientInformationMixed | undefined
  let tokens: OAuthTokens | undefined
  let verifier = ''
  let request: URL | null = null
  const authProvider: OAuthClientProvider = {
    redirectUrl: REDIRECT_URI,
    clientMetadata: {
      client_name: 'Assistant',
      redirect_uris: [REDIRECT_URI],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => client,
    saveClientInformation: (information) => void (client = information),
    tokens: () => tokens,
    saveTokens: (saved) => void (tokens = saved),
    redirectToAuthorization: (url) => void (request = url),
    saveCodeVerifier: (text) => void (verifier = text),
    codeVerifier: () => verifier,
  }
  const recordingFetch: Fetch = async (url, init) => {
    const response = await send(url, init)
    const { status, headers } = response
    const challenge = headers.get('www-authenticate')
    seen.push({ method: init?.method ?? 'GET', url: String(url), status, challenge })
    return response
  }
  const open = () =>
    new StreamableHTTPClientTransport(new URL(resource), { authProvider, fetch: recordingFetch })
  let transport = open()
  let mcp = new Client({ name: 'assistant', version: '1.0.0' })
  onTestFinished(() => mcp.close())

  return {
    seen,
    token: () => tokens?.access_token ?? '',
    use: (token: string) => void (tokens = { access_token: token, token_type: 'Bearer' }),
    authorizationRequest: () => request?.searchParams ?? new URLSearchParams(),
    connect: () => mcp.connect(transport),
    call: (name: string, args: Record<string, unknown> = {}) => mcp.callTool({ name, arguments: args }),
    /** What happens in the browser after `UnauthorizedError`, and then in the client. */
    async logIn() {
      const { code } = await authorize(String(request), REDIRECT_URI, user)
      await transport.finishAuth(code)
      await mcp.close()
      transport = open()
      mcp = new Client({ name: 'assistant', version: '1.0.0' })
      await mcp.connect(transport)
    },
    /** The answers of the MCP server to its endpoint. */
    answers: () => seen.filter(({ url, method }) => url === resource && method === 'POST'),
  }
}

const toResult = (text: string) => expect.objectContaining({ content: [{ type: 'text', text }] })

test('a client finds the authorization server, logs its user in and calls a tool', async () => {
  const { resource } = await startServer()
  const assistant = createAssistant(resource, 'hedy')
  await expect(assistant.connect()).rejects.toBeInstanceOf(UnauthorizedError)

  const metadata = resource.replace('/mcp', '/.well-known/oauth-protected-resource/mcp')
  const [first, second, third] = assistant.seen
  expect(first).toMatchObject({
    status: 401,
    challenge: `Bearer realm="api", scope="notes:read", resource_metadata="${metadata}"`,
  })
  expect(second).toMatchObject({ url: metadata, status: 200 })
  expect(third?.url.startsWith(provider.issuer)).toBe(true)
  const asked = assistant.authorizationRequest()
  expect([asked.get('resource'), asked.get('scope')]).toEqual([resource, 'notes:read'])

  await assistant.logIn()
  expect(decodeProtectedHeader(assistant.token())).toMatchObject({ typ: 'at+jwt' })
  expect(decodeJwt(assistant.token())).toMatchObject({ aud: resource, sub: 'hedy', scope: 'notes:read' })
  expect(await assistant.call('list_notes')).toEqual(toResult('Notes of hedy'))
})

test('the next call of a revoked user is a 401, and the client asks for a new login', async () => {
  const { tokens, resource } = await startServer()
  const [ada, bob] = [createAssistant(resource, 'ada'), createAssistant(resource, 'bob')]
  for (const assistant of [ada, bob]) {
    await expect(assistant.connect()).rejects.toBeInstanceOf(UnauthorizedError)
    await assistant.logIn()
    await assistant.call('list_notes')
  }
  await tokens.revoke.user('ada')
  await expect(ada.call('list_notes')).rejects.toBeInstanceOf(UnauthorizedError)
  expect(ada.answers().at(-1)).toMatchObject({
    status: 401,
    challenge: expect.stringContaining('error="invalid_token"') as unknown,
  })
  expect(await bob.call('list_notes')).toEqual(toResult('Notes of bob'))
})

test('a tool that needs another scope is a 403 that names it, and the client gets it', async () => {
  const { resource } = await startServer()
  const assistant = createAssistant(resource, 'grace')
  await expect(assistant.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  await assistant.logIn()
  await expect(assistant.call('add_note', { text: 'Milk' })).rejects.toBeInstanceOf(UnauthorizedError)
  const { status, challenge } = assistant.answers().at(-1) ?? {}
  expect(status).toBe(403)
  expect(challenge).toContain('error="insufficient_scope"')
  expect(challenge).toContain('scope="notes:read notes:write", resource_metadata="')
  expect(assistant.authorizationRequest().get('scope')).toBe('notes:read notes:write')

  await assistant.logIn()
  expect(await assistant.call('add_note', { text: 'Milk' })).toEqual(toResult('Added for grace: Milk'))
  expect(await assistant.call('list_notes')).toEqual(toResult('Notes of grace'))
})

test('a token for another resource is a 401', async () => {
  const [notes, mail] = [await startServer(), await startServer()]
  const assistant = createAssistant(mail.resource, 'ada')
  await expect(assistant.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  await assistant.logIn()
  const thief = createAssistant(notes.resource, 'ada')
  thief.use(assistant.token())
  await expect(thief.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  expect(thief.answers()).toMatchObject([{ status: 401 }])
})

test('several calls in one message are each checked, and no message is a 400', async () => {
  const { resource } = await startServer()
  const assistant = createAssistant(resource, 'edsger')
  await expect(assistant.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  await assistant.logIn()
  const post = async (body: string) => {
    const headers = {
      authorization: `Bearer ${assistant.token()}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    }
    return (await fetch(resource, { method: 'POST', headers, body })).status
  }
  const call = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: { text: 'Milk' } },
  })
  expect(await post(JSON.stringify([call(1, 'list_notes'), call(2, 'add_note')]))).toBe(403)
  expect(await post('{')).toBe(400)
  expect(await post('[null]')).toBe(400)
  expect((await fetch(resource)).status).toBe(405)
})

test('a token that is bound to a key works with its proofs, and not as a bearer token', async () => {
  const { tokens, resource } = await startServer({})
  const assistant = createAssistant(resource, 'alan', await createDpopFetch())
  await expect(assistant.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  await assistant.logIn()
  const token = assistant.token()
  expect(decodeJwt(token)).toMatchObject({ aud: resource, cnf: { jkt: expect.any(String) as unknown } })
  expect(await assistant.call('list_notes')).toEqual(toResult('Notes of alan'))

  const thief = createAssistant(resource, 'alan')
  thief.use(token)
  await expect(thief.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  const challenge = expect.stringMatching(/^DPoP .*error="invalid_token".*, algs="ES256 /) as unknown
  expect(thief.answers()).toMatchObject([{ status: 401, challenge }])
  const other = createAssistant(resource, 'alan', await createDpopFetch())
  other.use(token)
  await expect(other.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  // The SDK reads no challenge of this scheme, so it does not ask for the scope.
  await expect(assistant.call('add_note', { text: 'Milk' })).rejects.toMatchObject({ code: 403 })

  await tokens.revoke.user('alan')
  await expect(assistant.call('list_notes')).rejects.toBeInstanceOf(UnauthorizedError)
})

test('a server that demands proofs says so in its metadata', async () => {
  const { resource } = await startServer({ required: true })
  const assistant = createAssistant(resource, 'barbara', await createDpopFetch())
  await expect(assistant.connect()).rejects.toBeInstanceOf(UnauthorizedError)
  const { url = '' } = assistant.seen.find(({ status }) => status === 200) ?? {}
  expect(await (await fetch(url)).json()).toMatchObject({
    resource,
    dpop_bound_access_tokens_required: true,
    dpop_signing_alg_values_supported: expect.arrayContaining(['ES256']) as unknown,
  })
  await assistant.logIn()
  expect(await assistant.call('list_notes')).toEqual(toResult('Notes of barbara'))
})
