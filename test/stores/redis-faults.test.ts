import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { FOREVER, type Revocation } from '../../packages/tokenlib/src/revocation/revocation.js'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { ALL, HOUR, LIST, prepared, RULES, session, start, token } from './redis-fixture.js'

describeWithOwnServer('redis', 'What a Redis store survives', () => {
  test('a server that forgot its scripts is told them again', async () => {
    const { client } = await start()
    const store = await prepared(client)
    const forget = () => client.script('FLUSH')
    await forget()
    const { position } = await store.revoke([token('a')])
    await forget()
    const { sid } = await store.sessions.open(session())
    await forget()
    expect((await store.sessions.rotate(sid, firstToken(sid), RULES)).outcome).toBe('advanced')
    await forget()
    expect((await store.sessions.list('ada', LIST)).length).toBe(1)
    await forget()
    expect((await store.feed(position, { waitMs: 0 })).reset).toBe(false)
    await forget()
    expect(await store.prune(10)).toBe(0)
    await forget()
    await store.prepare({ longestLifetime: 2 * HOUR })
  })

  test('a full server refuses a whole batch, and goes on answering', async () => {
    const { client } = await start()
    const store = await prepared(client)
    const { position } = await store.revoke([token('a')])
    const { sid } = await store.sessions.open(session())
    const changes = async () => /rdb_changes_since_last_save:\d+/.exec(await client.info('persistence'))?.[0]
    const before = await changes()
    await client.config('SET', 'maxmemory', '1')
    await expect(store.revoke([token('b'), token('c')])).rejects.toThrow(/OOM/)
    await expect(store.sessions.open(session())).rejects.toThrow(/OOM/)
    await expect(store.sessions.rotate(sid, firstToken(sid), RULES)).rejects.toThrow(/OOM/)
    expect(await changes()).toBe(before)
    await prepared(client)
    expect(await store.lookup(['a', 'b', 'c'].map(token))).toEqual([FOREVER, undefined, undefined])
    expect((await store.feed(position, { waitMs: 0 })).entries).toEqual([])
    await client.config('SET', 'maxmemory', '0')
    await store.revoke([token('b'), token('c')])
    expect((await store.feed(position, { waitMs: 0 })).entries).toEqual(['b', 'c'].map(token))
    expect((await store.sessions.rotate(sid, firstToken(sid), RULES)).outcome).toBe('advanced')
  })

  test('a server that cannot write to its disk takes no revocation, and goes on answering', async () => {
    const { server, client } = await start({ save: '3600 1' })
    const store = await prepared(client)
    const { position } = await store.revoke([token('a')])
    mkdirSync(join(server.folder, 'dump.rdb'))
    await client.bgsave()
    await vi.waitFor(
      async () => expect(await client.info('persistence')).toMatch(/bgsave_status:err/),
      10_000,
    )
    await expect(store.revoke([token('b')])).rejects.toThrow(/MISCONF/)
    await expect(store.revoke([])).rejects.toThrow(/MISCONF/)
    expect(await store.lookup(['a', 'b'].map(token))).toEqual([FOREVER, undefined])
    expect((await store.feed(position, { waitMs: 0 })).entries).toEqual([])
  })

  test('a primary that became a replica answers nothing more', async () => {
    const { client } = await start()
    const { server: other } = await start()
    const store = await prepared(client)
    await store.revoke([token('a')])
    const { sid } = await store.sessions.open(session())
    await store.sessions.rotate(sid, firstToken(sid), RULES)
    await client.replicaof('127.0.0.1', other.port)
    await client.config('SET', 'replica-serve-stale-data', 'yes')
    for (const call of [
      () => store.lookup([token('a')]),
      () => store.revoke([token('a')]),
      () => store.feed(null, { waitMs: 0 }),
      () => store.sessions.list('ada', LIST),
      () => store.sessions.rotate(sid, firstToken(sid), { ...RULES, graceMs: HOUR }),
      () => store.sessions.rotate('unknown', firstToken('unknown'), RULES),
    ]) {
      await expect(call()).rejects.toThrow(/READONLY/)
    }
  })

  test('a primary without the replicas it must have answers nothing', async () => {
    const { client } = await start()
    const store = await prepared(client)
    await client.config('SET', 'min-replicas-to-write', '1')
    await expect(store.lookup([token('a')])).rejects.toThrow(/NOREPLICAS/)
    await expect(store.feed(null, { waitMs: 0 })).rejects.toThrow(/NOREPLICAS/)
  })

  test('what was acknowledged is there after kill -9', async () => {
    // With everysec, Redis delays writing its log while the disk is busy.
    const { server, client } = await start({ appendfsync: 'always' })
    const store = await prepared(client)
    const acknowledged: Revocation[] = []
    for (let round = 0; round < 4; round++) {
      const run = { isOver: false }
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let at = 0; !run.isOver; at++) {
          const entry = token(`${round}-${writer}-${at}`)
          await store.revoke([entry])
          acknowledged.push(entry)
        }
      })
      const enough = acknowledged.length + 200
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(enough), 20_000)
      await server.kill('SIGKILL')
      run.isOver = true
      await server.restart()
      await Promise.all(writers)
      expect(new Set(await store.lookup(acknowledged))).toEqual(new Set([FOREVER]))
      expect(await store.lookup([ALL])).toEqual([undefined])
    }
  })
})
