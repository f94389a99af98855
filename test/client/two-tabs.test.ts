import { expect, onTestFinished, test, vi } from 'vitest'
import { ADA, hold, openServer } from './open-server.js'

/** A server, a client in a tab, and a way to open another one. What tabs tell each other arrives when `deliver` is called. */
async function openTabs() {
  const server = await openServer({ JWT_TOKEN_LOCATION: 'cookies' })
  const { origin } = server
  const channels: { onmessage?: (event: { readonly data: unknown }) => void }[] = []
  const sent: (() => void)[] = []
  class Channel {
    onmessage?: (event: { readonly data: unknown }) => void

    constructor() {
      channels.push(this)
    }

    postMessage(data: unknown): void {
      const others = channels.filter((channel) => channel !== this)
      sent.push(() => others.forEach((channel) => channel.onmessage?.({ data })))
    }
  }
  vi.stubGlobal('location', { href: `${origin}/`, origin })
  vi.stubGlobal('BroadcastChannel', Channel)
  onTestFinished(() => void vi.unstubAllGlobals())
  const { client, reload } = server.createCookieClient()
  const loggedOut = vi.fn<() => void>()
  client.on('loggedOut', loggedOut)
  return {
    ...server,
    client,
    loggedOut,
    openTab: reload,
    deliver: () => sent.splice(0).forEach((arrive) => arrive()),
  }
}

test('a refusal of the session before does not end the one that another tab has just opened', async () => {
  const { client, loggedOut, openTab, deliver, tokens, plan } = await openTabs()
  await tokens.revoke.session((await client.logIn(ADA)).id)
  deliver()

  // The other tab asks for the session that has ended, and hears of that late.
  const { reached, release } = hold(plan, 'POST /auth/refresh')
  const other = openTab()
  const asked = other.session()
  await reached
  const { id } = await client.logIn(ADA)
  release()
  await expect(asked).resolves.toBeNull()
  deliver()

  await expect(other.session()).resolves.toMatchObject({ id })
  expect(loggedOut).not.toHaveBeenCalled()
  await expect(client.session()).resolves.toMatchObject({ id })
})

test('a refusal that another tab hears of after it has logged in does not end its new session', async () => {
  const { client, loggedOut, openTab, deliver, tokens } = await openTabs()
  await tokens.revoke.session((await client.logIn(ADA)).id)
  await expect(openTab().session()).resolves.toBeNull()
  const { id } = await client.logIn(ADA)
  deliver()
  expect(loggedOut).not.toHaveBeenCalled()
  await expect(client.session()).resolves.toMatchObject({ id })
})

test('a refusal ends the session in every tab', async () => {
  const { client, loggedOut, openTab, deliver, tokens } = await openTabs()
  const other = openTab()
  const { id } = await client.logIn(ADA)
  deliver()
  await tokens.revoke.session(id)
  await expect(other.session()).resolves.toBeNull()
  deliver()
  expect(loggedOut).toHaveBeenCalledTimes(1)
})
