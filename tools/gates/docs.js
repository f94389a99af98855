import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { listEntryPoints } from '../../site/reference.js'
import { assertNone } from '../shared/report.js'
import { listDeclarations } from './documented.js'
import { listExports } from './exported-names.js'

// Pages that are not named after what they describe: the store of `tokenlib/redis` is in a folder of its own.
const PAGES = {
  tokenlib: 'docs/getting-started.md',
  '@tokenlib/client/dpop': 'docs/client.md',
  '@tokenlib/contracts': 'docs/extending.md',
  'tokenlib/durable-objects': 'docs/workers.md',
  'tokenlib/kit': 'docs/extending.md',
  'tokenlib/memory': 'docs/stores/index.md',
  'tokenlib/mysql': 'docs/stores/mysql.md',
  'tokenlib/postgres': 'docs/stores/postgres.md',
  'tokenlib/redis': 'docs/stores/redis.md',
  'tokenlib/replica': 'docs/stores/replica.md',
  'tokenlib/sqlite': 'docs/stores/sqlite.md',
}

/** Every entry point has its page in docs, and the API reference of the site has a sentence for each exported symbol. */
export function checkDocs({ root, packages }) {
  const declarations = listDeclarations({ root, packages })
  const documented = new Set(declarations.filter(({ hasSentence }) => hasSentence).map(({ name }) => name))
  const problems = []
  let symbols = 0
  const entryPoints = listEntryPoints()
  for (const { name: specifier, source } of entryPoints) {
    const page = PAGES[specifier] ?? `docs/${specifier.replace(/^@?tokenlib\//, '')}.md`
    if (!existsSync(join(root, page))) problems.push(`${page} is missing`)
    const exported = listExports(join(root, source))
    if (exported.length === 0) problems.push(`${specifier} exports nothing that this gate can read`)
    symbols += exported.length
    const missing = exported.filter(({ declared }) => !documented.has(declared))
    problems.push(...missing.map(({ name }) => `\`${name}\` of ${specifier} has no sentence`))
  }
  assertNone(problems)
  return `${entryPoints.length} pages, ${symbols} symbols`
}
