import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  type CheckId,
  CHECKS,
  createFinding,
  ok,
  type Level,
} from '../../../packages/cli/src/doctor/findings.js'
import { printReport } from './print-report.js'
import { runDoctor, SAFE_ENV } from './run-doctor.js'

describe('the command', () => {
  test('reports the configuration alone where no store is given, and says so', async () => {
    const { exitCode, levels, document } = await runDoctor(['--json'])
    expect(levels['store-missing']).toBe('warning')
    expect(exitCode).toBe(0)
    expect(document).toMatchObject({ store: null, replica: null, node: { env: 'production' } })
  })

  test.each([
    ['an error', 1, [], { ...SAFE_ENV, JWT_SECRET_KEY: 'secret' }],
    ['a warning', 0, [], { ...SAFE_ENV, JWT_DECODE_LEEWAY: '10m' }],
    ['a warning and --strict', 1, ['--strict'], { ...SAFE_ENV, JWT_DECODE_LEEWAY: '10m' }],
    ['keys in code', 0, ['--keys-in-code'], { NODE_ENV: 'production' }],
    ['an argument', 2, ['redis://127.0.0.1'], SAFE_ENV],
    ['an invalid address', 2, ['--store', 'mongodb://127.0.0.1'], SAFE_ENV],
    ['an address without a database', 2, ['--store', 'mysql://127.0.0.1'], SAFE_ENV],
    ['a replica without a store', 2, ['--replica'], SAFE_ENV],
    ['an invalid timeout', 2, ['--store', 'redis://127.0.0.1', '--timeout', 'soon'], SAFE_ENV],
  ])('with %s exits with %i', async (_name, exitCode, args, env) => {
    expect((await runDoctor(args, env)).exitCode).toBe(exitCode)
    expect((await runDoctor(['--json', ...args], env)).exitCode).toBe(exitCode)
  })

  test('every finding has a sentence, and one that is not fine says what to do', async () => {
    const { document } = await runDoctor(['--json'], {
      JWT_SECRET_KEY: 'secret',
      JWT_TOKEN_LOCATION: 'cookies,query',
    })
    for (const { level, title, fix, docs } of document.findings) {
      expect(title).toMatch(/^\S.*[.?]$/)
      if (level !== 'ok') expect(fix).not.toBe('')
      expect(docs).toMatch(/^https:\/\//)
    }
  })
})

describe('the screen', () => {
  const LEVELS: readonly Level[] = ['note', 'error', 'warning']

  function print(count: number, width: number, isVerbose = false): string[] {
    const ids = Object.keys(CHECKS) as CheckId[]
    const texts = {
      title: 'Some words about what is wrong here. '.repeat(2).trim(),
      fix: 'Run: some --command',
    }
    const findings = ids.map((id, at) =>
      at < count ? createFinding(id, LEVELS[at % 3] as Level, texts) : ok(id, 'Fine.'),
    )
    return printReport(findings, { width, isVerbose })
  }

  test.each([0, 3, 9, 12])('with %i findings has at most 40 lines of 80 characters', (count) => {
    const lines = print(count, 80)
    expect(lines.length).toBeLessThanOrEqual(40)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  })

  test('has errors first, with what to do, however many there are', () => {
    const lines = print(30, 80)
    const levels = lines.map((line) => /^(?:error|warning|note|ok)/.exec(line)?.[0]).filter(Boolean)
    expect(levels).toEqual([
      ...Array(10).fill('error'),
      ...Array(10).fill('warning'),
      ...Array(10).fill('note'),
      'ok',
    ])
    expect(lines.filter((line) => line.includes('→'))).toHaveLength(10)
  })

  test('on a narrow terminal is as wide as that, but for words that are longer', () => {
    const lines = print(6, 50).filter((line) => !line.includes('https://'))
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(50)
  })

  test('with --verbose has everything', () => {
    const lines = print(30, 80, true)
    expect(lines.filter((line) => line.startsWith('ok'))).toHaveLength(Object.keys(CHECKS).length - 30)
  })
})

describe('the documentation', () => {
  test('every check leads to a section that exists', () => {
    expect(Object.values(CHECKS).filter((address) => !isSection(address))).toEqual([])
    expect(isSection('command-line.md#no-such-section')).toBe(false)
  })

  function isSection(address: string): boolean {
    const [file = '', anchor] = address.split('#')
    const path = new URL(`../../../docs/${file}`, import.meta.url)
    if (!existsSync(path)) return false
    const anchors = [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    return anchor === undefined || anchors.includes(anchor)
  }
})
