import { describe, expect, test } from 'vitest'
import { assertRecorded, compareReports, readReports } from '../../tools/api/compare.js'
import { toReports } from '../../tools/api/reports.js'
import { isBreaking } from '../../tools/release/api-changes.js'

const toReport = (code: string): string => `## Title\n\n\`\`\`ts\n\n${code}\n\n\`\`\`\n`

/** What a release says of one declaration that changes from one text to another. */
function compare(before: string, after: string, file = 'index.api.md') {
  const [old, current] = [before, after].map((code) => new Map([[file, toReport(code)]]))
  return compareReports(old, current).map((difference) => ({
    name: difference.name,
    breaks: isBreaking(difference),
  }))
}

describe('the report of an entry point', () => {
  const reports = toReports([
    {
      name: 'index',
      title: 'tokenlib',
      text: toReport(`import type { Spec } from 'spec';
import type { Unused } from 'unused';

// @public
export interface Options {
    // (undocumented)
    readonly a?: string;
    /** A sentence that may change. */
    readonly schema?: Spec;
}

// @public @deprecated
export function old(): void;

// Warnings were encountered during analysis:
//
// dist/index.d.ts:1:1`),
    },
    {
      name: 'hono',
      title: 'tokenlib/hono',
      text: toReport(`// @public
type Helper = 1 | 2;

// Warning: (ae-forgotten-export) The symbol "Options" needs to be exported
//
// @public
export function mount(options: Options): Helper;

// @public
interface Options {
    // (undocumented)
    readonly a?: string;
    readonly schema?: Spec;
}`),
    },
  ])

  test('has what it exports, the imports of that, and tags such as @deprecated', () => {
    const report = reports.get('index.api.md')
    expect(report).toContain(
      "import type { Spec } from 'spec';\n\nexport interface Options {\n    readonly a?: string;\n    readonly schema?: Spec;\n}",
    )
    expect(report).toContain('// @deprecated\nexport function old(): void;')
    expect(report).not.toMatch(/unused|Warning|@public|undocumented|sentence/)
  })

  test('leaves out what another entry point exports; what none exports is in one report', () => {
    expect(reports.get('hono.api.md')).toContain('export function mount(options: Options): Helper;')
    expect(reports.get('hono.api.md')).not.toContain('interface Options')
    expect(reports.get('internal.api.md')).toContain('type Helper = 1 | 2;')
    expect(reports.get('internal.api.md')).not.toContain('interface Options')
  })
})

describe('a change of the API', () => {
  const INTERFACE = 'export interface A {\n    readonly one: string;\n}'

  test.each([
    ['a new declaration', INTERFACE, `${INTERFACE}\n\nexport type B = 1;`, false],
    ['a new optional member', INTERFACE, INTERFACE.replace('}', '    readonly two?: string;\n}'), false],
    [
      'a new required member of an interface',
      INTERFACE,
      INTERFACE.replace('}', '    readonly two: string;\n}'),
      true,
    ],
    [
      'a new required method of an interface',
      INTERFACE,
      INTERFACE.replace('}', '    two(x: 1): void;\n}'),
      true,
    ],
    [
      'a new method of a class',
      'export class C {\n    a(): void;\n}',
      'export class C {\n    a(): void;\n    b(): void;\n}',
      false,
    ],
    ['a member that is gone', INTERFACE, INTERFACE.replace('    readonly one: string;\n', ''), true],
    ['a member with another type', INTERFACE, INTERFACE.replace('string', 'number'), true],
    ['a declaration that is gone', `${INTERFACE}\n\nexport type B = 1;`, INTERFACE, true],
    [
      'a new overload',
      'export function f(a: 1): 1;',
      'export function f(a: 1): 1;\n\nexport function f(a: 2): 2;',
      false,
    ],
    [
      'an overload that is gone',
      'export function f(a: 1): 1;\n\nexport function f(a: 2): 2;',
      'export function f(a: 1): 1;',
      true,
    ],
  ])('%s', (_, before, after, expected) => {
    expect(compare(before, after).some(({ breaks }) => breaks)).toBe(expected)
  })

  test('another order or other comments are none', () => {
    const [first, second] = [INTERFACE, 'export type B = 1;']
    expect(compare(`${first}\n\n${second}`, `${second}\n\n// @public\n${first}`)).toEqual([])
  })

  test('a whole entry point that is gone breaks', () => {
    const [difference] = compareReports(new Map([['hono.api.md', toReport(INTERFACE)]]), new Map())
    expect(difference !== undefined && isBreaking(difference)).toBe(true)
  })

  test('a type that no entry point exports may go, and may not change', () => {
    expect(compare('type A = 1;', '', 'internal.api.md').some(({ breaks }) => breaks)).toBe(false)
    expect(compare('type A = 1;', 'type A = 2;', 'internal.api.md').some(({ breaks }) => breaks)).toBe(true)
  })
})

describe('the check of the reports in the repository', () => {
  const recorded = readReports()

  test('passes with what is recorded', () => {
    expect(recorded.size).toBeGreaterThan(20)
    expect(() => assertRecorded(new Map(recorded))).not.toThrow()
  })

  test('names the report, the lines and the command otherwise', () => {
    const changed = new Map(recorded)
    changed.set(
      'tokenlib.hono.api.md',
      recorded.get('tokenlib.hono.api.md')?.replace('sendCookies(c: ', 'sendCookies(context: ') ?? '',
    )
    const check = () => assertRecorded(changed)
    expect(check).toThrow('tokenlib.hono.api.md: sendCookies')
    expect(check).toThrow('- export function sendCookies(c: ')
    expect(check).toThrow('npm run api')
  })

  test('sees a report that is missing or too many', () => {
    const fewer = new Map([...recorded].slice(1))
    expect(() => assertRecorded(fewer)).toThrow(Error)
    expect(() =>
      assertRecorded(new Map([...recorded, ['new.api.md', toReport('export type New = 1;')]])),
    ).toThrow(Error)
  })
})
