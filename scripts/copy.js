import { cpSync } from 'node:fs'

const [from, to] = process.argv.slice(2)
cpSync(from, to, { recursive: true })
