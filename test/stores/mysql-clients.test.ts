import mariadb from 'mariadb'
import mysql from 'mysql2'
import mysqlPromise from 'mysql2/promise'
import { expect, test } from 'vitest'
import { createMysqlStore } from 'tokenlib/mysql'
import { CLIENT_CONTRACT } from './contract-parts.js'
import { asMysql, type Connection, describeMysql } from './mysql-contract.js'

const parse = (url: string) => {
  const { hostname: host, port, username: user, pathname } = new URL(url)
  return { host, port: Number(port), user, database: pathname.slice(1) }
}

const CLIENTS: Record<string, (url: string) => Connection> = {
  'a Pool of mariadb': (url) => {
    const client = mariadb.createPool(parse(url))
    return { client, end: () => client.end() }
  },
  'a Pool of mariadb with its own shapes and types': (url) => {
    const client = mariadb.createPool({
      ...parse(url),
      connectionLimit: 1,
      namedPlaceholders: true,
      rowsAsArray: true,
      nestTables: '_',
      bigIntAsNumber: true,
      foundRows: false,
      prepareCacheLength: 0,
      pipelining: false,
      typeCast: (field) => field.string(),
    })
    return { client, end: () => client.end() }
  },
  'a Pool of mysql2 with callbacks, its own shapes and types': (uri) => {
    const client = mysql.createPool({
      uri,
      connectionLimit: 1,
      namedPlaceholders: true,
      rowsAsArray: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      flags: ['-FOUND_ROWS'],
      charset: 'latin1',
      timezone: '+09:00',
      typeCast: (field) => field.string(),
    })
    return { client, end: () => client.promise().end() }
  },
}

CLIENTS['a Pool of mysql2, without what only MariaDB knows'] = (url) => {
  const pool = mysqlPromise.createPool(url)
  return { client: asMysql(pool), end: () => pool.end() }
}

for (const [name, connect] of Object.entries(CLIENTS)) describeMysql(name, connect, CLIENT_CONTRACT)

test.each([
  ['an address', 'mysql://127.0.0.1/app'],
  ['nothing', undefined],
  ['a connection', { query: async () => [], execute: async () => [] }],
])('%s is no pool', (_, client) => {
  expect(() => createMysqlStore(client as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION_INVALID' }),
  )
})

test('a pool of the callback API of mariadb is refused when it is used', async () => {
  const client = { getConnection: () => undefined }
  await expect(createMysqlStore(client as never).migrate()).rejects.toMatchObject({
    code: 'CONFIGURATION_INVALID',
  })
})

test('a pool without a database is refused', async () => {
  const query = async () => [[]]
  const execute = async () => [[[null]]]
  const client = { getConnection: async () => ({ query, execute, release: () => 0, destroy: () => 0 }) }
  await expect(createMysqlStore(client).migrate()).rejects.toMatchObject({ code: 'CONFIGURATION_INVALID' })
})
