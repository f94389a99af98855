import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import type { Browser, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import {
  setAccessCookies,
  TokenConfig,
  type TokenEvents,
  TokenManager,
} from '../../packages/tokenlib/src/index.js'
import { createConsole } from '../../packages/console/src/index.js'
import { createMemoryStore } from '../../packages/tokenlib/src/stores/memory.js'

/** An application with two consoles on real HTTP, and a page of somebody else. */
export interface ConsoleSite {
  readonly tokens: TokenManager
  /** The address of the application: the own machine, to which browsers send Sec-Fetch-Site. */
  readonly app: string
  /** The same application under a name without HTTPS, to which they do not. */
  readonly plain: string
  /** What was revoked, by whomever. */
  readonly revoked: readonly TokenEvents['revoked'][]
  /** Closes the console at `/open`. */
  closeOpen(): void
  /** The address of a page of another site with this content. */
  evilPage(html: string): string
}

/**
 * `/console` is guarded by a cookie with the scope `operator`, which `/login` sets. `/open` lets everybody in, as a
 * network or a browser's password does: nothing but the console itself tells requests of other pages apart.
 */
export async function openConsoleSite(): Promise<ConsoleSite> {
  const config = new TokenConfig({
    JWT_SECRET_KEY: randomBytes(32),
    JWT_TOKEN_LOCATION: 'cookies',
    JWT_COOKIE_SECURE: false,
  })
  const tokens = new TokenManager({ config, store: createMemoryStore() })
  const guarded = createConsole(tokens, { allow: tokens.require({ scopes: ['operator'] }) })
  const open = createConsole(tokens, { allow: () => 'anybody', path: '/open' })
  const revoked: TokenEvents['revoked'][] = []
  tokens.on('revoked', (event) => revoked.push(event))

  const answer = async (request: Request): Promise<Response> => {
    const { hostname, pathname, searchParams } = new URL(request.url)
    if (hostname === EVIL) return createHtml(searchParams.get('html') ?? '')
    if (pathname === '/login') {
      const { accessToken } = await tokens.sessions.open({ uid: 'grace' }, { scopes: ['operator'] })
      const response = createHtml('Logged in')
      for (const cookie of setAccessCookies(tokens, accessToken))
        response.headers.append('set-cookie', cookie)
      return response
    }
    if (pathname === '/frame') return createHtml('<iframe src="/open/"></iframe>')
    return (
      (await guarded.handle(request)) ?? (await open.handle(request)) ?? new Response(null, { status: 404 })
    )
  }
  const server = serve({
    fetch: answer,
    overrideGlobalObjects: false,
    port: 0,
    hostname: '127.0.0.1',
  }) as Server
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    tokens,
    app: `http://localhost:${port}`,
    plain: `http://app.example.test:${port}`,
    revoked,
    closeOpen: () => open.close(),
    evilPage: (html) => `http://${EVIL}:${port}/?${new URLSearchParams({ html }).toString()}`,
  }
}

const EVIL = 'evil.test'

function createHtml(html: string): Response {
  // Without an icon, the browser asks for one that is not there.
  return new Response(`<!doctype html><link rel="icon" href="data:,">${html}`, {
    headers: { 'content-type': 'text/html; charset=utf-8' },
  })
}

/** A page in a browser of its own, and what went wrong in it: errors, blocked content, dialogs, requests to others. */
export async function openPage(browser: Browser, app: string): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(app) && !request.url().startsWith('data:')) {
      problems.push(`request: ${request.url()}`)
    }
  })
  return { page, problems }
}
