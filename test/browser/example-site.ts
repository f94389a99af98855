import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TokenConfigOptions } from 'tokenlib'
import { START } from '../../examples/frameworks.js'
import { openApplication } from '../../examples/open-application.js'
import type { Framework } from '../../examples/options.js'
import { PATIENT } from '../helpers/manager.js'

/** The example application with its page, and pages of others that attack it. */
export interface ExampleSite {
  /** Where the application is, and its page. */
  readonly url: string
  readonly page: string
  /** The address of a page with this content: on another site, or on another port of the same host. */
  pageOf(host: 'other site' | 'other port', html: string): string
  close(): Promise<void>
}

/** Starts the example application in this process, as `npm start` does. The page itself is that of the last build. */
export async function openExample(
  framework: Framework = 'fastify',
  options: TokenConfigOptions = {},
): Promise<ExampleSite> {
  const choice = { store: { kind: 'memory' }, pageFacts: { Framework: framework } } as const
  const opened = await openApplication(choice, { ...PATIENT, ...options })
  const started = { framework, port: 0, profile: 'message', handleErrors: false } as const
  const server = await START[framework](opened.application, started)

  const others = createServer(({ url = '' }, response) => {
    const { searchParams } = new URL(url, server.url)
    response.writeHead(200, { 'content-type': 'text/html' }).end(searchParams.get('html'))
  }).listen(0, '127.0.0.1')
  await once(others, 'listening')
  const { port } = others.address() as AddressInfo
  return {
    url: server.url,
    page: `${server.url}/app`,
    pageOf(host, html) {
      const name = host === 'other site' ? 'evil.test' : '127.0.0.1'
      return `http://${name}:${port}/?${new URLSearchParams({ html }).toString()}`
    },
    async close() {
      others.close()
      others.closeAllConnections()
      await server.close()
      await opened.close()
    },
  }
}
