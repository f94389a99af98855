import { createRedisStore } from 'tokenlib/redis'
import { expect, test } from 'vitest'
import { FOREVER, type RevocationKey } from '../../packages/tokenlib/src/revocation/revocation.js'
import { describeWithOwnServer } from '../helpers/servers/describe-with-servers.js'
import { ALL, HOUR, prepared, start, token } from './redis-fixture.js'

const KEY: RevocationKey = { kind: 'key', id: 'k1' }
const tokenKey = (id: string): RevocationKey => ({ kind: 'token', id })

/** A store that is ready, and a count of the commands that it sends. */
async function open() {
  const { client } = await start()
  const commands: string[][] = []
  const watched = {
    call(command: string, args: string[]) {
      commands.push([command, ...args])
      return client.call(command, ...args)
    },
  }
  const store = createRedisStore(watched, { onWarning: () => undefined })
  await store.prepare({ longestLifetime: HOUR })
  await store.lookup([ALL])
  commands.length = 0
  return { client, store, commands }
}

describeWithOwnServer('redis', 'Lookups of a Redis store', () => {
  test('that are made in one turn of the event loop share one command', async () => {
    const { store, commands } = await open()
    const lookups = Array.from({ length: 40 }, (_, at) => store.lookup([ALL, KEY, tokenKey(`t${at}`)]))
    expect(await Promise.all(lookups)).toEqual(lookups.map(() => [undefined, undefined, undefined]))
    expect(commands).toHaveLength(1)
    // The keys that they have in common are sent once.
    expect(commands[0]?.filter((text) => text.includes(':r:'))).toHaveLength(40 + 2)
  })

  test('that share a command get each their own answers', async () => {
    const { store } = await open()
    await store.revoke([token('t7'), { ...KEY, notBefore: 5, until: FOREVER }])
    await store.lookup([ALL])
    const answers = await Promise.all(
      Array.from({ length: 9 }, async (_, at) => store.lookup([tokenKey(`t${at}`), ALL, KEY])),
    )
    expect(answers).toEqual(
      Array.from({ length: 9 }, (_, at) => [at === 7 ? FOREVER : undefined, undefined, 5]),
    )
  })

  test('refuse when the server answers with something else than the script', async () => {
    const { client, store } = await open()
    await store.revoke([token('t1')])
    // Anyone who shares the connection has begun a transaction on it: every command is answered with QUEUED.
    await client.multi({ pipeline: false })
    await expect(store.lookup([tokenKey('t1')])).rejects.toThrow()
    await client.discard()
    expect(await store.lookup([tokenKey('t1')])).toEqual([FOREVER])
  })

  test('of more keys than one command has are answered in order', async () => {
    const { store, commands } = await open()
    await store.revoke([token('t0'), token('t499'), token('t500'), token('t1200')])
    commands.length = 0
    const keys = Array.from({ length: 1201 }, (_, at) => tokenKey(`t${at}`))
    const [answers, beside] = await Promise.all([store.lookup(keys), store.lookup([tokenKey('t500')])])
    expect(answers.flatMap((answer, at) => (answer === FOREVER ? at : []))).toEqual([0, 499, 500, 1200])
    expect(answers).toHaveLength(1201)
    expect(beside).toEqual([FOREVER])
    for (const command of commands) expect(command.length).toBeLessThan(520)
  })

  test('fail together when the server refuses, and none is answered', async () => {
    const { client, store } = await open()
    await client.config('SET', 'min-replicas-to-write', '1')
    const settled = await Promise.allSettled([store.lookup([ALL]), store.lookup([tokenKey('a')])])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await client.config('SET', 'min-replicas-to-write', '0')
    expect(await store.lookup([ALL])).toEqual([undefined])
  })

  test('find a loss once, and are all answered by what is there then', async () => {
    const { client } = await start()
    const warnings: string[] = []
    const store = await prepared(client, (message) => void warnings.push(message))
    await store.revoke([token('a')])
    await client.flushall()
    const answers = await Promise.all([store.lookup([ALL]), store.lookup([ALL, tokenKey('a')])])
    for (const [all] of answers) expect(all).toBeGreaterThan(0)
    expect(warnings).toHaveLength(1)
  })

  test('without a prepare before find an empty server empty, and not as they know it', async () => {
    const { client } = await start()
    const store = createRedisStore(client)
    expect(await store.lookup([ALL])).toEqual([undefined])
    expect(await client.get('{tokenlib:tokenlib}:epoch')).toEqual(expect.any(String))
  })
})
