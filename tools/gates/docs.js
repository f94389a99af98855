import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listSubpaths } from '../packages/entries.js'
import { listExportedNames } from './exported-names.js'
import { assertNone } from '../shared/report.js'

// Pages that are not named after what they describe: the store of `tokenlib/redis` is in a folder of its own.
const PAGES = {
  tokenlib: 'docs/api.md',
  '@tokenlib/client/dpop': 'docs/client.md',
  '@tokenlib/contracts': 'docs/writing-a-store.md',
  'tokenlib/durable-objects': 'docs/stores/durable-objects.md',
  'tokenlib/memory': 'docs/stores/memory.md',
  'tokenlib/postgres': 'docs/stores/postgres.md',
  'tokenlib/redis': 'docs/stores/redis.md',
  'tokenlib/replica': 'docs/stores/replica.md',
  'tokenlib/sqlite': 'docs/stores/sqlite.md',
}

/** Every entry point has its page, and docs/api.md names every exported symbol; docs/kit.md has those of the kit. */
export function checkDocs({ root, packages }) {
  const documented = readCodeSpans(join(root, 'docs/api.md'))
  const problems = []
  let [pages, symbols] = [0, 0]
  for (const { folder, manifest } of packages) {
    for (const { specifier, types } of listSubpaths(manifest)) {
      const page = PAGES[specifier] ?? `docs/${specifier.replace(/^@?tokenlib\//, '')}.md`
      pages += 1
      if (!existsSync(join(root, page))) problems.push(`${page} is missing`)
      const names = [...listExportedNames(join(root, folder, types))]
      if (names.length === 0) problems.push(`${specifier} exports nothing that this gate can read`)
      symbols += names.length
      const own = specifier === 'tokenlib/kit' ? readCodeSpans(join(root, page)) : new Set()
      const missing = names.filter((name) => !documented.has(name) && !own.has(name))
      problems.push(...missing.map((name) => `\`${name}\` of ${specifier} is not in docs/api.md or ${page}`))
    }
  }
  assertNone(problems)
  return `${pages} pages, ${symbols} symbols`
}

// A span documents the name it starts with: `enforce`, `enforce(...dependencies)`, `Dependency<Value>`.
function readCodeSpans(page) {
  if (!existsSync(page)) return new Set()
  const prose = readFileSync(page, 'utf8').replaceAll(/^ *```[^]*?^ *```/gm, '')
  return new Set(Array.from(prose.matchAll(/`(?:new )?([\w$]+)[^`\n]*`/g), ([, name]) => name))
}
