import { describe, expect, onTestFinished, test } from 'vitest'
import { createConsole } from '../../packages/console/src/index.js'
import { createRevocable } from '../helpers/revocable.js'
import { OWN_PAGE, readLive } from '../routes/console-fixture.js'
import { MOUNTS } from './mounted.js'

// Over real HTTP in every framework: that routes are mounted well is for mount.test.ts to show.
describe.each(Object.entries(MOUNTS))('a console in %s', (_name, start) => {
  test('shows its page, revokes with who, from where and why, and tells of it immediately', async () => {
    const { tokens } = createRevocable()
    const app = await start(createConsole(tokens, { allow: () => 'grace', path: '/auth' }))
    onTestFinished(() => app.close())
    const events: object[] = []
    tokens.on('revoked', (event) => events.push(event))

    const page = await fetch(`${app.url}/auth`)
    expect(page.url).toBe(`${app.url}/auth/`)
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(await page.text()).toContain('Sessions of a user')
    for (const [file, type] of [
      ['style.css', 'text/css'],
      ['script.js', 'text/javascript'],
    ] as const) {
      const response = await fetch(`${app.url}/auth/${file}`)
      expect(response.headers.get('content-type')?.toLowerCase()).toBe(`${type}; charset=utf-8`)
    }

    const live = readLive(await fetch(`${app.url}/auth/api/live`))
    const body = JSON.stringify({ kind: 'user', id: 'ada', reason: 'Ticket 1', confirmation: 'ada' })
    const headers = { ...OWN_PAGE, 'user-agent': 'Test/1' }
    const answer = await fetch(`${app.url}/auth/api/revoke`, { method: 'POST', headers, body })
    expect([answer.status, await answer.json()]).toEqual([200, { kind: 'user', id: 'ada', isKnown: null }])
    const facts = {
      kind: 'user',
      id: 'ada',
      actor: 'grace',
      note: 'Ticket 1',
      ip: expect.stringMatching(/^(?:127\.0\.0\.1|192\.0\.2\.1)$/) as string,
      userAgent: 'Test/1',
    }
    expect(events).toMatchObject([facts])
    expect(await live.next()).toMatchObject({ event: 'revoked', facts })
    await live.cancel()
  })
})
