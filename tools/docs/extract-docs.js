// Turns the ```ts blocks of README.md and docs/**/*.md into modules under build/docs, one per document, so that
// every example is type-checked and run. Two comments become assertions:
//
//   expression // => value        the awaited expression deeply equals the value, prototypes aside
//   expression // throws NAME     the expression throws, or rejects with, an error of that `code` or `name`
//
// Blocks in tabs (between <!-- tabs --> and <!-- /tabs -->, each after its name in bold) make one module for each name,
// with the blocks outside of tabs: what somebody reads who chose that tab. A group without the name adds its first tab.
//
// A block with the path of a file behind its language (```ts app/page.ts) is not one of them: it is a part of a project
// in test/consumers, which test/consumers.test.ts compares it with, of one in test/migrations, or of the product of a
// tutorial, which tools/consumers builds.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../shared/root.js'

const target = join(root, 'build/docs')

/** Writes the modules, and removes those of blocks that are gone. */
export function extractDocs() {
  const written = new Set()
  for (const path of ['README.md', ...markdownUnder('docs')]) {
    for (const { ending, blocks } of listReadings(readBlocks(path))) {
      const source = toModule(path, blocks)
      if (source === null) continue
      const output = join(target, path.replace(/^docs\//, '').replace(/\.md$/, `${ending}.ts`))
      if (written.has(output)) throw new Error(`${path}: two tabs have names that differ too little`)
      written.add(output)
      mkdirSync(dirname(output), { recursive: true })
      // Unchanged files are left alone: a type check or a test run may be reading them.
      if (!existsSync(output) || readFileSync(output, 'utf8') !== source) writeFileSync(output, source)
    }
  }
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !written.has(path)) rmSync(path)
  }
}

function markdownUnder(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join(folder, path))
    .toSorted()
}

/**
 * The `ts` blocks of a document, each with its `{ text, place }` lines.
 *
 * In tabs, a block has the number of its `group` and the name of its `tab`, otherwise `null` for both.
 */
function readBlocks(path) {
  const blocks = []
  let fence = null
  let groups = 0
  let isInTabs = false
  let tab = null
  for (const [at, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    const place = `${path}:${at + 1}`
    if (fence === null) {
      if (line === '<!-- tabs -->' || line === '<!-- /tabs -->') {
        if (isInTabs === (line === '<!-- tabs -->'))
          throw new Error(`${place}: tabs are not closed, or not open`)
        isInTabs = !isInTabs
        tab = null
        if (isInTabs) groups++
      }
      if (isInTabs) tab = /^\*\*([^*]+)\*\*$/.exec(line)?.[1] ?? tab
      const [, indent, marks, info] = /^(\s*)(```+)\s*(.*)$/.exec(line) ?? []
      if (marks === undefined) continue
      if (/^(?:ts|typescript)\b/.test(info) && !/^ts(?: \S+\.\w+)?$/.test(info)) {
        throw new Error(`${place}: write a TypeScript block as \`\`\`ts, alone or with the path of a file`)
      }
      if (isInTabs && tab === null) throw new Error(`${place}: the tab of this block has no name`)
      fence = { indent, marks, lines: info === 'ts' ? [] : null }
      if (fence.lines !== null) blocks.push({ lines: fence.lines, group: isInTabs ? groups : null, tab })
    } else if (line.trim() === fence.marks) fence = null
    else fence.lines?.push({ text: line.slice(fence.indent.length), place })
  }
  if (fence !== null) throw new Error(`${path}: a code block is not closed`)
  if (isInTabs) throw new Error(`${path}: tabs are not closed`)
  return blocks
}

/** What is read together: all blocks, or those of each tab with all that are in none. */
function listReadings(blocks) {
  const names = new Set(blocks.map(({ tab }) => tab).filter((tab) => tab !== null))
  if (names.size === 0) return [{ ending: '', blocks }]
  return [...names].map((name) => ({
    ending: `.${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`,
    blocks: blocks.filter(({ group, tab }) => {
      const ofGroup = blocks.filter((other) => other.group === group)
      return group === null || tab === (ofGroup.find((other) => other.tab === name) ?? ofGroup[0]).tab
    }),
  }))
}

/** One module of all blocks, or `null` when there are none. */
function toModule(path, blocks) {
  if (blocks.length === 0) return null
  const imports = new Map()
  const body = blocks
    .map((block) => toStatements(withoutImports(block.lines, imports)).join('\n'))
    .join('\n\n')
  // A page may name something only to show it; `void` counts as a use.
  const uses = `void [${declaredNames(body).join(', ')}]`
  return [`// From ${path}.`, PREAMBLE, toImports(imports), HELPERS, body, uses, ''].join('\n')
}

const PREAMBLE = `import { deepStrictEqual as assertEqual, rejects as assertRejects } from 'node:assert'`

const HELPERS = `
const isError = (expected: string) => (error: { readonly code?: unknown; readonly name?: unknown }) => {
  if (error.code === expected || error.name === expected) return true
  throw error
}
void [assertEqual, assertRejects, isError]
`

const NAMED_IMPORT = /^import (type )?\{([^}]*)\} from '([^']+)'$/

/** The lines that are not imports; those are gathered in `imports`, by module. */
function withoutImports(block, imports) {
  const rest = []
  for (let at = 0; at < block.length; at++) {
    if (!block[at].text.startsWith('import ')) {
      rest.push(block[at])
      continue
    }
    const { place } = block[at]
    let statement = block[at].text
    while (!/ from '[^']+'$|^import '[^']+'$/.test(statement)) {
      if (/ from '[^']+'\s*\/\//.test(statement))
        throw new Error(`${place}: move the comment above the import`)
      if (++at === block.length) throw new Error(`${place}: the import does not end`)
      statement += ` ${block[at].text.trim()}`
    }
    addImport(statement, imports)
  }
  return rest
}

function addImport(statement, imports) {
  const [, type = '', names, from] = NAMED_IMPORT.exec(statement) ?? []
  const key = from ?? statement
  if (!imports.has(key)) imports.set(key, new Set())
  for (const name of (names ?? '').split(',').map((text) => text.trim())) {
    if (name !== '') imports.get(key).add(`${type}${name}`)
  }
}

function toImports(imports) {
  return [...imports]
    .map(([key, names]) => {
      if (names.size === 0) return key
      // A name that one block imports as a type and another as a value is a value.
      const merged = [...names].filter(
        (name) => !names.has(name.replace(/^type /, '')) || !name.startsWith('type '),
      )
      return `import { ${merged.join(', ')} } from '${key}'`
    })
    .join('\n')
}

const ASSERTION = /^(.*\S)\s+\/\/ (=>|throws) (.*\S)\s*$/

function toStatements(lines) {
  const statements = []
  for (const { text, place } of lines) {
    const [, end, verb, expected] = ASSERTION.exec(text) ?? []
    if (end === undefined) {
      if (/\/\/\s*(?:=>|throws\b)/.test(text)) throw new Error(`${place}: this asserts nothing`)
      statements.push(text)
      continue
    }
    let expression = end.replace(/^;/, '')
    // The formatter may have broken a long expression; its lines belong together until every bracket is closed.
    while (countOpen(expression) < 0) {
      if (statements.length === 0) throw new Error(`${place}: the expression does not start`)
      expression = `${statements.pop()}\n${expression}`
    }
    statements.push(
      verb === '=>'
        ? `assertEqual(structuredClone(await (${expression})), ${expected}) // ${place}`
        : `await assertRejects(async () => { await (${expression}) }, isError('${expected}')) // ${place}`,
    )
  }
  return statements
}

/** How many brackets a text opens and does not close. */
function countOpen(text) {
  const code = text.replaceAll(/'(?:\\.|[^'\\])*'|`[^`]*`/g, '')
  return (code.match(/[([{]/g)?.length ?? 0) - (code.match(/[)\]}]/g)?.length ?? 0)
}

/** What a module declares at its top level; examples are not indented there. */
function declaredNames(source) {
  const declarations = source.matchAll(
    /^(?:const|let|(?:async )?function\*?|class) (?:(\w+)|\{([^}]*)\}|\[([^\]]*)\])/gm,
  )
  return [...declarations].flatMap(([, name, ...patterns]) => {
    if (name !== undefined) return [name]
    const members = patterns.join('').split(',')
    return members.map((member) => member.replace(/=.*$/s, '').split(':').at(-1).trim()).filter(Boolean)
  })
}

if (import.meta.filename === process.argv[1]) extractDocs()
