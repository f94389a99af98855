import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import { expect, onTestFinished, test } from 'vitest'
import { createMysqlStore, type MysqlPool, type MysqlStore } from 'tokenlib/mysql'
import { firstToken } from '../../packages/contracts/src/store-fixture.js'
import { describeWithMysql } from '../helpers/servers/describe-with-servers.js'

const HOUR = 3_600_000
const LIMIT = 120_000
const FOREVER = Number.MAX_SAFE_INTEGER
const RULES = { graceMs: 10_000, idleMs: FOREVER, ip: null, userAgent: null }
const ENTRY = { kind: 'token', id: 'a', notBefore: FOREVER, until: FOREVER } as const
const ALL = { kind: 'all', id: '' } as const

interface Address {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
}

interface Opened {
  readonly pool: MysqlPool
  end(): Promise<void>
}

const CLIENTS: Record<string, (address: Address) => Opened> = {
  mysql2(address) {
    const pool = mysql.createPool({ ...address, connectionLimit: 1 })
    return { pool, end: () => pool.end() }
  },
  mariadb(address) {
    const pool = mariadb.createPool({ ...address, connectionLimit: 1, minDelayValidation: 0 })
    return { pool, end: () => pool.end() }
  },
}

const CALLS: Record<string, (store: MysqlStore) => Promise<unknown>> = {
  lookup: (store) => store.lookup([ENTRY]),
  feed: (store) => store.feed(null, { waitMs: 0 }),
  rotate: (store) => store.sessions!.rotate('x', firstToken('x'), RULES),
  revoke: (store) => store.revoke([{ ...ENTRY, id: 'b' }]),
}

describeWithMysql('answers of a MySQL server that are cut', (url) => {
  const { hostname: host, port, username: user, pathname } = new URL(url)
  const database = pathname.slice(1)

  test.each(
    Object.keys(CLIENTS).flatMap((client) => Object.keys(CALLS).map((call) => [client, call] as const)),
  )(
    'are not taken for a loss by %s, in %s',
    async (client, call) => {
      const proxy = await startProxy(host, Number(port))
      const { pool, end } = CLIENTS[client]!({ host: '127.0.0.1', port: proxy.port, user, database })
      onTestFinished(async () => {
        await end()
        proxy.close()
      })
      const warnings: string[] = []
      const namespace = `${client} ${call}`
      const store = createMysqlStore(pool, { namespace, onWarning: (text) => warnings.push(text) })
      await store.migrate()
      await store.prepare({ longestLifetime: HOUR })
      await store.revoke([ENTRY])
      const operate = CALLS[call]!

      // Twice: the first one has statements to prepare.
      await operate(store)
      const answers = await proxy.record(() => operate(store))
      const places = cutPlaces(answers)
      expect(places.length).toBeGreaterThan(20)
      let refused = 0
      for (const place of places) {
        const isDone = await proxy
          .cut(place, () => operate(store))
          .then(
            () => true,
            () => false,
          )
        if (!isDone) refused++
        expect([place, await store.lookup([ENTRY, ALL]).catch(() => store.lookup([ENTRY, ALL]))]).toEqual([
          place,
          [FOREVER, undefined],
        ])
        await operate(store)
      }
      expect(warnings).toEqual([])
      expect(refused).toBeGreaterThan(places.length / 2)
    },
    LIMIT,
  )
})

/** Before, within and after each packet: its header, its first byte, its middle and its end. */
function cutPlaces(answers: Buffer): number[] {
  const places = new Set<number>()
  for (let at = 0; at + 4 <= answers.length;) {
    const end = at + 4 + answers.readUIntLE(at, 3)
    for (const place of [at, at + 2, at + 4, at + 5, (at + end) >> 1, end - 1]) places.add(place)
    at = end
  }
  return [...places].filter((place) => place < answers.length)
}

/** A proxy in front of a server, which ends connections in the middle of what the server says. */
async function startProxy(host: string, port: number) {
  let recorded: Buffer[] | null = null
  let left = Infinity
  const server = createServer((near) => {
    const far = connect(port, host)
    near.on('data', (chunk: Buffer) => far.write(chunk))
    far.on('data', (chunk: Buffer) => {
      recorded?.push(chunk)
      if (chunk.length <= left) {
        left -= chunk.length
        return near.write(chunk)
      }
      near.end(chunk.subarray(0, left))
      left = Infinity
      return far.destroy()
    })
    for (const [socket, other] of [[near, far] as const, [far, near] as const]) {
      socket.on('error', () => undefined)
      socket.on('close', () => other.end())
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => server.close(),
    async record(call: () => Promise<unknown>): Promise<Buffer> {
      recorded = []
      await call()
      const answers = Buffer.concat(recorded)
      recorded = null
      return answers
    },
    async cut(place: number, call: () => Promise<unknown>): Promise<unknown> {
      left = place
      return call().finally(() => (left = Infinity))
    },
  }
}
