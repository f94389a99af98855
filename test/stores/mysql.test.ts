import mysql from 'mysql2/promise'
import { describeMysql } from './mysql-contract.js'

// mysql-clients.test.ts has the other clients.
describeMysql('a Pool of mysql2', (url) => {
  const client = mysql.createPool(url)
  return { client, end: () => client.end() }
})
