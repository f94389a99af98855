import { describe, expect, test } from 'vitest'
import {
  announcesBreaking,
  checkChangelog,
  parseSection,
  readSections,
} from '../../tools/release/changelog.js'
import { readCommands } from '../../tools/release/fresh-clone.js'
import { compareVersions, mayBreak, parseVersion } from '../../tools/release/versions.js'

const CHANGELOG = `# Changelog

## Unreleased

## 0.2.0 - 2026-11-16

- Something new.

### Fixed

- Something old.

## 0.1.0 - 2026-11-15

- **Breaking:** everything.
`

describe('versions', () => {
  test('are ordered as Semantic Versioning §11 says', () => {
    const ordered = [
      '0.1.0',
      '0.2.0',
      '0.10.0',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
    ]
    ordered.push('1.0.0-beta.11', '1.0.0-rc.1', '1.0.0', '1.0.1', '2.0.0')
    expect(ordered.toReversed().toSorted(compareVersions)).toEqual(ordered)
    expect(compareVersions('1.2.3', '1.2.3')).toBe(0)
  })

  test.each(['1.0', 'v1.0.0', '01', '1.0.0-', 'latest'])('%s is none', (text) => {
    expect(() => parseVersion(text)).toThrow(Error)
  })

  test.each([
    ['0.1.0', '0.2.0', true],
    ['0.1.0', '0.1.1', false],
    ['0.9.0', '1.0.0', true],
    ['1.0.0', '1.1.0', false],
    ['1.9.0', '2.0.0', true],
  ])('from %s to %s may break: %s', (previous, next, expected) => {
    expect(mayBreak(previous, next)).toBe(expected)
  })
})

describe('the changelog of a release', () => {
  const sections = readSections(CHANGELOG)
  const release = { version: '0.2.0', date: '2026-11-16' }

  test('has a section with text for each version', () => {
    expect(sections.map(({ version, date }) => [version, date])).toEqual([
      ['Unreleased', null],
      ['0.2.0', '2026-11-16'],
      ['0.1.0', '2026-11-15'],
    ])
    expect(parseSection('0.2.0', sections).text).toBe('- Something new.\n\n### Fixed\n\n- Something old.')
    expect(checkChangelog(release, sections)).toContain('2 entries')
  })

  test.each([
    ['a version without a section', { ...release, version: '0.3.0' }, CHANGELOG],
    ['another date', { ...release, date: '2026-11-17' }, CHANGELOG],
    ['a section that is not the newest', { version: '0.1.0', date: '2026-11-15' }, CHANGELOG],
    ['entries that wait', release, CHANGELOG.replace('## Unreleased\n', '## Unreleased\n\n- Forgotten.\n')],
    [
      'an empty section',
      release,
      CHANGELOG.replace('- Something new.\n\n### Fixed\n\n- Something old.\n', ''),
    ],
    ['a section without a date', release, CHANGELOG.replace('0.2.0 - 2026-11-16', '0.2.0')],
  ])('%s is refused', (_, given, text) => {
    expect(() => checkChangelog(given, readSections(text))).toThrow(Error)
  })

  test('says that it breaks something in an entry or a heading, not in passing', () => {
    expect(announcesBreaking(parseSection('0.1.0', sections))).toBe(true)
    expect(announcesBreaking({ text: '### Breaking changes\n\n- One.' })).toBe(true)
    expect(announcesBreaking({ text: '**Breaking, for applications:**\n\n- One.' })).toBe(true)
    expect(announcesBreaking(parseSection('0.2.0', sections))).toBe(false)
    expect(announcesBreaking({ text: 'No breaking changes.' })).toBe(false)
  })
})

describe('the two commands of the README', () => {
  test('are found with their comments removed', () => {
    expect(readCommands()).toEqual({ start: 'npm install && npm start', test: 'npm install && npm test' })
  })

  test('must be there', () => {
    expect(() => readCommands('## Try it\n\n```sh\nnpm start\n```\n')).toThrow(Error)
  })
})
