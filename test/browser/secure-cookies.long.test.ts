import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWithBrowsers } from '../helpers/servers/describe-with-servers.js'

const external = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address

// What docs/cookies-and-csrf.md says about plain HTTP in development.
describeWithBrowsers('Secure cookies over plain HTTP', (browser) => {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    if (request.url === '/set') response.setHeader('set-cookie', 'session=1; Path=/; Secure; HttpOnly')
    response.end(request.headers.cookie ?? 'none')
  })
  beforeAll(async () => {
    server.listen(0)
    await once(server, 'listening')
  })
  afterAll(() => void server.close())

  const readBack = async (host: string): Promise<string> => {
    const context = await browser().newContext()
    const page = await context.newPage()
    const origin = `http://${host}:${(server.address() as AddressInfo).port}`
    await page.goto(`${origin}/set`)
    await page.goto(`${origin}/read`)
    const text = await page.evaluate<string>('document.body.innerText')
    await context.close()
    return text
  }

  test.each(['localhost', 'shop.localhost', '127.0.0.1'])('are kept and sent on %s', async (host) => {
    expect(await readBack(host)).toBe('session=1')
  })

  test.runIf(external !== undefined)('are dropped on another address of the machine', async () => {
    expect(await readBack(external ?? '')).toBe('none')
  })
})
