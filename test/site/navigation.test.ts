import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NAVIGATION } from '../../site/navigation.js'
import { expand } from '../../site/side-bar.js'
import { listDocs } from '../../site/sources.js'

const read = (path: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))

test('the navigation names every page of docs once, and no other', () => {
  const named = NAVIGATION.flatMap(({ items }) => items.flatMap(expand)).map(({ page }) => page)
  expect(named.toSorted()).toEqual(listDocs())
})

test('the list of versions has the version of the package, and an address for each older one', () => {
  const { version } = read('package.json') as { version: string }
  const [current, ...older] = read('site/versions.json') as { version: string; link?: string }[]
  expect([current, ...older].map((entry) => entry?.version)).toContain(version)
  expect(current?.link).toBeUndefined()
  expect(older.filter(({ link }) => !link?.startsWith('https://'))).toEqual([])
})
