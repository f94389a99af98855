import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createSqliteStore } from '../../packages/tokenlib/src/stores/sqlite.js'
import { systemClock } from '../../packages/tokenlib/src/time.js'
import { PATIENT, SECRET } from '../helpers/manager.js'
import { runCommand } from './test-terminal.js'

// Every console block of the page is run, in order, and compared with what is really printed.
const PAGE = new URL('../../docs/command-line.md', import.meta.url)
const page = readFileSync(PAGE, 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'tokenlib-cli-'))
const database = new DatabaseSync(join(folder, 'tokens.db'))
const config = new TokenConfig({ JWT_SECRET_KEY: SECRET, ...PATIENT })
const tokens = new TokenManager({ config, store: createSqliteStore(database) })
const files = new Map<string, string>()

beforeAll(async () => {
  await tokens.sessions.open({ uid: 'ada' }, { ip: '203.0.113.4', userAgent: 'curl/8.5.0' })
  const client = { ip: '198.51.100.7', userAgent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0' }
  const { accessToken } = await tokens.sessions.open({ uid: 'ada', team: 'engines' }, client)
  files.set('token.txt', accessToken)
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
  const exp = Math.floor(systemClock() / 1000) - 200
  const forged = { sub: 'grace', type: 'access', iat: exp - 900, exp }
  files.set('forged.txt', `${encode({ alg: 'none' })}.${encode(forged)}.`)
})
afterAll(() => database.close())

// What differs from run to run.
function normalize(text: string): string {
  return text
    .replaceAll(folder, '/var/lib/app')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/\b(?:now|(?:in )?\d+ (?:second|minute)s?(?: ago)?)(?= |$|\))/gm, '<words>')
    .replaceAll(/\b\d{10}\b/g, '<seconds>')
    .replaceAll(/[\w-]{43}|[\w-]{22}(?::\d+)?|[\w-]{16}(?=")/g, '<id>')
    .replaceAll(/"cli:[^"]*"/g, '"cli:<user>"')
    .replaceAll(/ {2,}/g, '  ')
    .replaceAll(/^\d+ of at most/gm, '<length> of at most')
}

async function runLine(line: string): Promise<string> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  const [npx, name, ...rest] = words
  expect([npx, name]).toEqual(['npx', 'tokenlib'])
  const at = rest.indexOf('<')
  const input = at === -1 ? '' : (files.get(rest[at + 1] ?? '') ?? '')
  const args = (at === -1 ? rest : rest.slice(0, at)).map((word) =>
    word.replace('signing.pem', join(folder, 'signing.pem')),
  )
  const env = { JWT_SECRET_KEY: SECRET, TOKENLIB_STORE: `sqlite:${join(folder, 'tokens.db')}` }
  const isAsked = args[0] === 'revoke' && !args.includes('--yes')
  const { screen } = await runCommand(args, { env, input, ...(isAsked && { answer: true }) })
  const text = screen.replaceAll(`${folder}/signing`, 'signing').replaceAll(folder, '/var/lib/app')
  // A secret that is printed in a manual is one that somebody uses.
  return args[0] === 'secret' ? text.replace(/^[\w-]{43}$/m, '<43 random characters>') : text
}

test('every console block shows what the command prints', async () => {
  const blocks = [...page.matchAll(/```console\n([^]*?)```/g)].map(([, text]) => text ?? '')
  expect(blocks.length).toBeGreaterThan(4)
  for (const block of blocks) {
    const lines = block.split('\n').filter((line) => line.startsWith('$ '))
    let printed = ''
    for (const line of lines) printed += `${line}\n${await runLine(line.slice(2))}`
    expect(normalize(printed)).toBe(normalize(block))
  }
})
