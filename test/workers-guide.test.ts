import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

// The project is built, type-checked and run by `node tools/consumers`, so the page is right as long as it is the same.
test.each(['src/index.ts', 'wrangler.jsonc'])('the guide for Workers shows %s as it is tested', (file) => {
  expect(read('docs/workers.md')).toContain(read(`test/consumers/workers/${file}`))
})
