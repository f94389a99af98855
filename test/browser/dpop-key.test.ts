import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { decodeProtectedHeader } from 'jose'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'

/** An application whose page has a client with a key; it keeps the proofs that reach it. */
async function openApplication() {
  const scripts = new Map([
    ['/client.js', await bundle('index')],
    ['/dpop.js', await bundle('dpop')],
  ])
  const proofs: string[] = []
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*')
    const script = scripts.get(url)
    if (script !== undefined) return response.setHeader('content-type', 'text/javascript').end(script)
    if (headers['dpop'] !== undefined) proofs.push(String(headers['dpop']))
    const location = /^\/to\?(.*)/.exec(url)?.[1]
    if (location !== undefined) return response.writeHead(307, { location }).end()
    return response.setHeader('content-type', 'text/html').end('<!doctype html>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { origin, proofs, keys: () => new Set(proofs.map((proof) => decodeProtectedHeader(proof).jwk?.x)) }
}

/** Sends a request of the page's client; `options` is code. */
const send = (page: Page, path = '/notes', options = ''): Promise<string> =>
  page.evaluate(`(async () => {
    const [{ createTokenClient }, { dpop }] = await Promise.all([import('/client.js'), import('/dpop.js')])
    const client = createTokenClient({ proof: dpop(${options}) })
    return client.fetch('${path}').then(({ status }) => String(status), (error) => error.name)
  })()`)

/** Runs code with the stored record as `keys`. */
const readRecord = (page: Page, code: string): Promise<unknown> =>
  page.evaluate(`new Promise((resolve, reject) => {
    const opening = indexedDB.open('tokenlib')
    opening.onerror = () => reject(opening.error)
    opening.onsuccess = () => {
      const reading = opening.result.transaction('keys').objectStore('keys').getAll()
      reading.onsuccess = () => resolve(reading.result)
      opening.result.close()
    }
  }).then(async ([keys, ...others]) => { ${code} })`)

describeWithChromium('the key of a browser', (browser) => {
  async function open() {
    const application = await openApplication()
    const context = await browser().newContext()
    onTestFinished(() => context.close())
    const openTab = async (): Promise<Page> => {
      const page = await context.newPage()
      await page.goto(application.origin)
      return page
    }
    return { ...application, context, openTab }
  }

  test('is one for tabs that start at the same time, and stays when they are loaded again', async () => {
    const { origin, proofs, keys, openTab } = await open()
    const first = await openTab()
    const tabs = [first, ...(await Promise.all([openTab(), openTab(), openTab()]))]
    await Promise.all(tabs.map((tab) => send(tab)))
    expect(proofs).toHaveLength(4)
    expect(keys().size).toBe(1)
    await first.goto(origin)
    expect(await send(first)).toBe('200')
    expect(proofs).toHaveLength(5)
    expect(keys().size).toBe(1)
  })

  test('cannot be read by a script', async () => {
    const { openTab } = await open()
    const page = await openTab()
    await send(page)
    const code = `return [
      others.length,
      keys.privateKey.extractable,
      keys.privateKey.algorithm.namedCurve,
      await crypto.subtle.exportKey('jwk', keys.privateKey).catch((error) => error.name),
    ]`
    expect(await readRecord(page, code)).toEqual([0, false, 'P-256', 'InvalidAccessError'])
  })

  test('is another one by another name, and in memory', async () => {
    const { keys, openTab } = await open()
    const page = await openTab()
    for (const options of ['', `{ name: 'admin' }`, `{ storage: 'memory' }`]) await send(page, '/', options)
    expect(keys().size).toBe(3)
    expect(await readRecord(page, 'return others.length')).toBe(1)
  })

  test('is in memory where the database does not open', async () => {
    const { keys, openTab } = await open()
    const page = await openTab()
    await page.evaluate(`IDBFactory.prototype.open = () => { throw new DOMException('', 'SecurityError') }`)
    expect(await send(page)).toBe('200')
    expect(keys().size).toBe(1)
  })

  test('is on no proof that a redirect takes to another origin', async () => {
    const [{ proofs, openTab }, stranger] = [await open(), await openApplication()]
    const page = await openTab()
    expect(await send(page, `/to?${stranger.origin}`)).toBe('TypeError')
    expect(await send(page, '/to?/notes')).toBe('200')
    expect(proofs).toHaveLength(3)
    expect(stranger.proofs).toEqual([])
  })
})

async function bundle(name: string): Promise<string> {
  const entryPoints = [fileURLToPath(new URL(`../../packages/client/src/${name}.ts`, import.meta.url))]
  const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false })
  return outputFiles[0]?.text ?? ''
}
