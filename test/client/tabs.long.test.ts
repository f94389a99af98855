import { once } from 'node:events'
import type { Browser } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocketServer, type WebSocket } from 'ws'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import type { openServer } from './open-server.js'
import { addNote, logIn, openTabs } from './open-tabs.js'

const EXPIRED = 16 * 60

type Config = Parameters<typeof openServer>[0]

// The main flow is in tabs.integration.test.ts.
describeWithChromium('tabs of one browser', (browser: () => Browser) => {
  const open = (config?: Config) => openTabs(browser(), config)

  test('another user logs in in another tab: each tab knows who it is', async () => {
    const { openTab } = await open()
    const [first, second] = [await openTab(), await openTab()]
    await first.run(logIn('ada'))
    await second.heard(1)
    await second.run(logIn('bob'))
    expect(await first.heard(2)).toEqual(['loggedIn ada', 'loggedIn bob'])
    expect(await first.run('return (await client.session()).sub')).toBe('bob')
  })

  test('without a BroadcastChannel, the CSRF cookie shows it', async () => {
    const { openTab, context } = await open()
    await context.addInitScript('delete window.BroadcastChannel')
    const [first, second] = [await openTab(), await openTab()]
    await first.run(logIn('ada'))
    await second.run(logIn('bob'))
    const code = `return client.fetch('/notes').then(({ status }) => status, (error) => error.code)`
    expect(await first.run(code)).toBe('SESSION_CHANGED')
    expect(await first.run('return (await client.session()).sub')).toBe('bob')
    await second.run('await client.logOut()')
    expect(await first.run(code)).toBe(401)
    expect(await first.heard(3)).toEqual(['loggedIn ada', 'loggedOut ', 'loggedOut '])
  })

  test('many tabs whose token has expired: no request is refused', async () => {
    const { openTab, clock } = await open()
    const tabs = await Promise.all(Array.from({ length: 5 }, () => openTab()))
    await tabs[0]?.run(logIn('ada'))
    for (let round = 0; round < 3; round++) {
      clock.seconds += EXPIRED
      expect(await Promise.all(tabs.map((tab) => tab.run(addNote)))).toEqual([200, 200, 200, 200, 200])
    }
  })

  test('a page that is loaded again has its session, also where the access token was in memory', async () => {
    const { openTab } = await open({ JWT_TOKEN_LOCATION: 'headers', JWT_REFRESH_TOKEN_LOCATION: 'cookies' })
    const tab = await openTab()
    await tab.run(logIn('ada'))
    expect(await tab.run(addNote)).toBe(200)
    await tab.load()
    expect(await tab.run(addNote)).toBe(200)
    expect(await tab.run('return (await client.session()).sub')).toBe('ada')
  })

  test('a socket reconnects when its token has expired, and a logout in another tab closes it', async () => {
    const { openTab, server, tokens, origin } = await open()
    const sockets = new WebSocketServer({ noServer: true })
    onTestFinished(() => sockets.close())
    server.on('upgrade', (request, socket, head) => {
      tokens.sockets.authenticate(request, { origins: [origin] }).then(
        ({ payload }) =>
          sockets.handleUpgrade(request, socket, head, (client) => {
            sockets.emit('connection', client, request)
            client.send(`${payload.sub} ${payload.jti}`)
          }),
        () => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'),
      )
    })
    const [first, second] = [await openTab(), await openTab()]
    await first.run(logIn('ada'))
    const connected = once(sockets, 'connection')
    await first.run(`
      window.messages = []
      window.socket = client.socket('/live')
      for (const type of ['message', 'close'])
        socket.addEventListener(type, ({ data, code }) => messages.push(data ?? code))`)
    const [connection] = (await connected) as [WebSocket]
    const again = once(sockets, 'connection')
    connection.close(4401)
    await again
    await first.page.waitForFunction('messages.length === 2 && socket.readyState === 1')
    const [one, two] = await first.page.evaluate<string[]>('messages')
    expect([one === two, two?.startsWith('ada ')]).toEqual([false, true])
    await second.run('await client.logOut()')
    await first.page.waitForFunction('messages.length === 3')
    expect(await first.page.evaluate('[messages[2], socket.readyState]')).toEqual([4401, 3])
    const sending = `try { socket.send('late') } catch (error) { return error.code }`
    expect(await first.run(sending)).toBe('SOCKET_NOT_OPEN')
  })

  test('a socket that the server closes with a code that only servers may use is closed', async () => {
    const { openTab, server } = await open()
    const sockets = new WebSocketServer({ server })
    onTestFinished(() => sockets.close())
    sockets.on('connection', (connection) => connection.close(1008))
    const tab = await openTab()
    await tab.run(logIn('ada'))
    const closing = `return new Promise((resolve) => {
      client.socket('/live').addEventListener('close', ({ code }) => resolve(code))
    })`
    expect(await tab.run(closing)).toBe(1008)
  })

  test('a client that has left the channel still refreshes, logs out and logs in', async () => {
    const { openTab, clock } = await open()
    const tab = await openTab()
    await tab.run(logIn('ada'))
    await tab.run('client.close()')
    clock.seconds += EXPIRED
    expect(await tab.run(addNote)).toBe(200)
    await tab.run('await client.logOut()')
    expect(await tab.run(logIn('bob'))).toBe('bob')
  })
})
