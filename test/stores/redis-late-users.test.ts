import { Redis } from 'ioredis'
import { createRedisStore } from 'tokenlib/redis'
import { expect, onTestFinished, test } from 'vitest'
import { FOREVER } from '../../packages/tokenlib/src/revocation/revocation.js'
import { MAX_ENDED_AT_ONCE } from '../../packages/tokenlib/src/revocation/session-store.js'
import { describeWithRedis } from '../helpers/servers/describe-with-servers.js'
import { HOUR, LIST, session } from './redis-fixture.js'

describeWithRedis('sessions of a user from a clock that was far ahead', (url) => {
  test('are revoked by many short scripts, and a login in between goes on', async () => {
    const client = new Redis(url)
    onTestFinished(() => client.disconnect())
    let ahead = 3 * HOUR
    let whenCalled = async (): Promise<void> => undefined
    const watched = {
      async call(command: string, args: string[]): Promise<unknown> {
        await whenCalled()
        return client.call(command, args)
      },
    }
    const store = createRedisStore(watched, {
      namespace: 'late-users',
      allowVolatile: true,
      clock: () => Date.now() + ahead,
    })
    await store.prepare({ longestLifetime: HOUR })
    const count = 10 * MAX_ENDED_AT_ONCE
    const opened = await Promise.all(Array.from({ length: count }, () => store.sessions!.open(session())))
    ahead = 0

    const logins: string[] = []
    let calls = 0
    whenCalled = async () => {
      // Between two steps, as another request.
      if (++calls === 3) logins.push((await store.sessions!.open(session())).sid)
    }
    const { position } = await store.revoke([{ kind: 'user', id: 'ada', notBefore: 0, until: 0 }])
    whenCalled = async () => undefined

    expect(calls).toBeGreaterThanOrEqual(count / MAX_ENDED_AT_ONCE)
    const found = await store.lookup(opened.map(({ sid }) => ({ kind: 'session', id: sid })))
    expect(new Set(found)).toEqual(new Set([FOREVER]))
    expect((await store.sessions!.list('ada', LIST)).map(({ sid }) => sid)).toEqual(logins)
    expect((await store.feed(position, { waitMs: 0 })).entries).toEqual([])
  })
})
