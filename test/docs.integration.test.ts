import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { CONFIG_TABLE } from '../packages/tokenlib/src/config/config-table.js'
import {
  describeWithMysql,
  describeWithPostgres,
  describeWithRedis,
} from './helpers/servers/describe-with-servers.js'

const root = fileURLToPath(new URL('..', import.meta.url))
execFileSync(process.execPath, [join(root, 'tools/docs/extract-docs.js')])

describe('every example in the documentation does what it says', () => {
  const modules = join(root, 'build/docs')
  const run = async (name: string): Promise<void> => {
    vi.stubEnv('JWT_SECRET_KEY', randomBytes(32).toString('hex'))
    // A page may have no comments that assert something: then it must only run.
    await expect(import(/* @vite-ignore */ join(modules, name))).resolves.toBeDefined()
  }
  // These need a server: pages, and tabs of pages.
  const names = list(modules, '.ts')
  const redis = names.filter((name) => /(?:stores\/(?:managed-)?|\.)redis\.ts$/.test(name))
  const postgres = names.filter((name) =>
    /(?:stores\/(?:postgres|sql-clients\..+)|\.postgresql)\.ts$/.test(name),
  )
  const mysql = names.filter((name) => /(?:stores\/|\.)mysql\.ts$/.test(name))
  const served = new Set([...redis, ...postgres, ...mysql])
  const others = names.filter((name) => !served.has(name))

  // `serve` of @hono/node-server puts classes of its own in their places, for all tests of this thread.
  const classes = { Request: globalThis.Request, Response: globalThis.Response }
  afterAll(() => {
    for (const [name, value] of Object.entries(classes)) {
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
    }
  })

  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-docs-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  test.each(others)('%s', async (name) => {
    vi.stubEnv('SQLITE_FILE', join(folder, 'tokens.db'))
    await run(name)
  })

  describeWithRedis('on Redis', (url) => {
    test.each(redis)('%s', async (name) => {
      vi.stubEnv('REDIS_URL', url)
      await run(name)
    })
  })

  describeWithPostgres('on PostgreSQL', (url) => {
    test.each(postgres)('%s', async (name) => {
      vi.stubEnv('DATABASE_URL', url)
      await run(name)
    })
  })

  describeWithMysql('on MariaDB', (url) => {
    test.each(mysql)('%s', async (name) => {
      vi.stubEnv('MYSQL_URL', url)
      await run(name)
    })
  })
})

test('every relative link leads to a file and a heading', () => {
  const documents = [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    ...list(join(root, 'docs'), '.md').map((name) => `docs/${name}`),
  ]
  const broken = documents.flatMap((document) =>
    relativeLinks(document)
      .filter((link) => !leadsSomewhere(document, link))
      .map((link) => `${document}: ${link}`),
  )
  expect(broken).toEqual([])
})

test('the figures of docs/how-it-is-tested.md are those that the tools recorded', () => {
  const { status, stderr } = spawnSync(process.execPath, ['tools/docs/tested.js', '--check'], { cwd: root })
  expect(String(stderr)).toBe('')
  expect(status).toBe(0)
})

test('docs/configuration.md lists every field with its default', () => {
  const page = readFileSync(join(root, 'docs/configuration.md'), 'utf8')
  const rows = new Map(
    Array.from(page.matchAll(/^\| `(JWT_\w+)` +\| `([^`]+)` +\|/gm), ([, name, value]) => [name, value]),
  )
  const fields = Object.entries(CONFIG_TABLE).map(([name, field]) => [name, toSource(field.default)])
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(fields))
})

function list(folder: string, ending: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith(ending)).toSorted()
}

function readProse(path: string): string {
  return readFileSync(path, 'utf8').replaceAll(/^ *```[^]*?^ *```/gm, '')
}

function relativeLinks(document: string): string[] {
  const links = readProse(join(root, document)).matchAll(/\]\(([^)\s]+)\)/g)
  return Array.from(links, ([, link = '']) => link).filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? join(root, document) : resolve(root, dirname(document), path)
  // Written next to the tests it lists, so it may come after the pages that link to it.
  if (target === join(root, 'docs/decisions/specification-map.md') && !existsSync(target)) return true
  if (!existsSync(target)) return false
  return anchor === undefined || !target.endsWith('.md') || anchors(target).has(anchor)
}

// As GitHub makes them: lower case, spaces to hyphens, punctuation dropped.
function anchors(path: string): Set<string> {
  const found = new Set<string>()
  for (const [, heading = ''] of readProse(path).matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let count = 1; found.has(anchor); count++) anchor = `${slug}-${count}`
    found.add(anchor)
  }
  return found
}

function toSource(value: unknown): string {
  return JSON.stringify(value).replaceAll('"', "'").replaceAll("','", "', '")
}
