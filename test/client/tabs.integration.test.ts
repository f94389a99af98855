import { expect, test } from 'vitest'
import { describeWithChromium } from '../helpers/servers/describe-with-servers.js'
import { addNote, logIn, openTabs } from './open-tabs.js'

// Seconds after which an access token has expired, and its session not.
const EXPIRED = 16 * 60

// tabs.long.test.ts has more.
describeWithChromium('tabs of one browser', (browser) => {
  test('a login, a refresh and a logout reach every tab', async () => {
    const { openTab, clock, sent, requests } = await openTabs(browser())
    const [first, second] = [await openTab(), await openTab()]
    const before = requests.length
    expect(await first.run('return client.session()')).toBeNull()
    expect(sent(before)).toEqual([])
    expect(await first.run(logIn('ada'))).toBe('ada')
    expect(await second.heard(1)).toEqual(['loggedIn ada'])
    expect(await second.run(addNote)).toBe(200)
    clock.seconds += EXPIRED
    expect(await second.run(addNote)).toBe(200)
    expect(await first.heard(2)).toEqual(['loggedIn ada', 'refreshed ada'])
    expect(await first.run(addNote)).toBe(200)
    expect(sent().filter((route) => route === 'POST /auth/refresh')).toHaveLength(1)
    await first.run('await client.logOut()')
    expect(await second.heard(3)).toEqual(['loggedIn ada', 'refreshed ada', 'loggedOut '])
    expect(await second.run(addNote)).toBe(401)
    expect(sent().filter((route) => route === 'POST /auth/refresh')).toHaveLength(1)
  })
})
