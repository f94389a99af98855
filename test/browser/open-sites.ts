import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { generate } from 'selfsigned'
import { TokenConfig, type TokenConfigOptions, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'
import { type Application, createApplication } from './application.js'

/** An application on the web, and the sites around it; each is an origin. */
export interface Sites extends Application {
  readonly tokens: TokenManager
  readonly app: string
  /** Below the application's host, in the hands of an attacker. */
  readonly subdomain: string
  /** Beside the application's host and of the same site. */
  readonly sibling: string
  /** Another site. */
  readonly evil: string
  /** The address of a page with this content; of another site's, also setting these cookies. */
  pageOf(origin: string, html: string, cookies?: readonly string[]): string
  close(): void
}

/** Names that only the host itself can set, and only over HTTPS. */
export const HOST_NAMES = {
  JWT_ACCESS_COOKIE_NAME: '__Host-access',
  JWT_REFRESH_COOKIE_NAME: '__Host-refresh',
  JWT_ACCESS_CSRF_COOKIE_NAME: '__Host-csrf',
} as const satisfies TokenConfigOptions

/** Serves all sites over HTTPS on one port, under the names that the browser uses for them. */
export async function openSites(options: (origins: SiteOrigins) => TokenConfigOptions): Promise<Sites> {
  const { private: key, cert } = await generate([{ name: 'commonName', value: HOSTS.app }], {
    keyType: 'ec',
    extensions: [
      { name: 'subjectAltName', altNames: Object.values(HOSTS).map((value) => ({ type: 2, value })) },
    ],
  })
  const server = createServer({ key, cert }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origins = {
    app: `https://${HOSTS.app}:${port}`,
    subdomain: `https://${HOSTS.subdomain}:${port}`,
    sibling: `https://${HOSTS.sibling}:${port}`,
    evil: `https://${HOSTS.evil}:${port}`,
  }
  const config = new TokenConfig({
    JWT_SECRET_KEY: randomBytes(32),
    JWT_TOKEN_LOCATION: 'cookies',
    ...options(origins),
  })
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  const application = createApplication(tokens)

  server.on('request', (request, response) => {
    if (request.headers.host === `${HOSTS.app}:${port}`) return application.handle(request, response)
    const { pathname, searchParams } = new URL(request.url ?? '', origins.evil)
    // A page is what its address says; a detour sends the request on, method and body included.
    if (pathname === '/detour')
      return response.writeHead(307, { location: searchParams.get('to') ?? '' }).end()
    const headers = { 'content-type': 'text/html', 'set-cookie': searchParams.getAll('cookie') }
    return response.writeHead(200, headers).end(searchParams.get('html'))
  })
  server.on('upgrade', (request, socket, head) => application.upgrade(request, socket, head, origins.app))
  return {
    ...application,
    ...origins,
    tokens,
    pageOf(origin, html, cookies = []) {
      const fields = [['html', html], ...cookies.map((cookie) => ['cookie', cookie])] as [string, string][]
      return `${origin}/?${new URLSearchParams(fields).toString()}`
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The origins of all sites, known when the port is. */
export type SiteOrigins = Readonly<Record<'app' | 'subdomain' | 'sibling' | 'evil', string>>

// RFC 2606 §2 keeps .test free; no list of public suffixes has it, so a site is the last two labels.
const HOSTS = {
  app: 'app.example.test',
  subdomain: 'sub.app.example.test',
  sibling: 'other.example.test',
  evil: 'evil.test',
}
