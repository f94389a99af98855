import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listSubpaths } from './entries.js'
import { listExportedNames } from './exported-names.js'
import { assertNone } from '../run.js'

/** Every subpath has its page (the root has docs/api.md), and docs/api.md names every exported symbol. */
export function checkDocs({ root, manifest }) {
  const subpaths = listSubpaths(manifest)
  const pages = subpaths.map(({ subpath }) =>
    subpath === '.' ? 'docs/api.md' : `docs/${subpath.slice(2)}.md`,
  )
  const problems = pages.filter((page) => !existsSync(join(root, page))).map((page) => `${page} is missing`)

  const documented = readCodeSpans(join(root, 'docs/api.md'))
  let symbols = 0
  for (const { subpath, types } of subpaths) {
    if (!existsSync(join(root, types ?? 'none'))) continue // the exports gate says so
    const names = [...listExportedNames(join(root, types))]
    if (names.length === 0) problems.push(`${subpath} exports nothing that this gate can read`)
    symbols += names.length
    const missing = documented === null ? [] : names.filter((name) => !documented.has(name))
    problems.push(...missing.map((name) => `\`${name}\` of ${subpath} is not in docs/api.md`))
  }
  assertNone(problems)
  return `${pages.length} pages, ${symbols} symbols`
}

// A span documents the name it starts with: `enforce`, `enforce(...dependencies)`, `Dependency<Value>`.
function readCodeSpans(page) {
  if (!existsSync(page)) return null
  const prose = readFileSync(page, 'utf8').replaceAll(/^ *```[^]*?^ *```/gm, '')
  return new Set(Array.from(prose.matchAll(/`(?:new )?([\w$]+)[^`\n]*`/g), ([, name]) => name))
}
