/** The report of what no entry point exports, although exported declarations refer to it. */
const INTERNAL = 'internal'

/**
 * The files of `api`, from what API Extractor wrote for each entry point: a map from file names to texts.
 *
 * A declaration is in the report of every entry point that exports it. What is only referred to is left out where
 * another entry point exports the same declaration; the rest is in `internal.api.md`, once.
 */
export function toReports(extracted) {
  const entries = extracted.map(({ name, title, text }) => ({ name, title, blocks: readBlocks(text) }))
  const exported = new Set(
    entries.flatMap(({ blocks }) => blocks.filter(isExported).map((block) => block.replace(/^export /m, ''))),
  )
  const internal = entries.flatMap(({ blocks }) =>
    blocks.filter((block) => !isExported(block) && !isImport(block) && !exported.has(block)),
  )

  const reports = new Map()
  for (const { name, title, blocks } of entries) {
    const kept = blocks.filter(isExported)
    reports.set(`${name}.api.md`, format(`What \`${title}\` exports.`, [...readImports(blocks, kept), ...kept]))
  }
  const title = 'What no entry point exports, but exported declarations refer to.'
  reports.set(`${INTERNAL}.api.md`, format(title, [...new Set(internal)].toSorted(compareNames)))
  return reports
}

/** The declarations of a report: a map from `enforce` or `TokenManager` to its lines, those of all overloads together. */
export function readDeclarations(report) {
  const declarations = new Map()
  for (const block of readBlocks(report)) {
    if (isImport(block)) continue
    const name = readName(block)
    declarations.set(name, [...(declarations.get(name) ?? []), ...block.split('\n')])
  }
  return declarations
}

function format(title, blocks) {
  const note = 'Written by `npm run api` from the declarations of the built package; do not edit it.'
  return `${title} ${note}\n\n\`\`\`ts\n${blocks.join('\n\n')}\n\`\`\`\n`
}

/** The statements of a report, without comments other than `// @deprecated` and other tags. */
function readBlocks(report) {
  const code = /^```ts\n([^]*?)^```/m.exec(report)?.[1]
  if (code === undefined) throw new Error('An API report must have a block of TypeScript')
  return code
    .replaceAll(/^ *\/\*\*[^]*?\*\/\n/gm, '')
    .split(/\n{2,}/)
    .map(removeNotes)
    // A comment alone belongs to no declaration.
    .filter((block) => /^(?! *\/\/)./m.test(block))
}

// API Extractor writes the tags of a declaration above it: `// @public`, `// @public @deprecated (undocumented)`.
function removeNotes(block) {
  const lines = block.split('\n').map((line) => {
    const comment = /^( *)\/\/(.*)$/.exec(line)
    if (comment === null) return line
    const tags = comment[2].split(' ').filter((word) => word.startsWith('@') && word !== '@public')
    return tags.length > 0 ? `${comment[1]}// ${tags.join(' ')}` : ''
  })
  return lines.filter((line) => line.trim() !== '').join('\n')
}

function isExported(block) {
  return /^export /m.test(block)
}

function isImport(block) {
  return block.startsWith('import ')
}

/** The imports that the kept declarations need, as one block, or none. */
function readImports(blocks, kept) {
  const text = kept.join('\n')
  const lines = blocks.filter(isImport).flatMap((block) => block.split('\n'))
  const needed = lines.filter((line) => {
    const name = /([\w$]+)(?: \})? from /.exec(line)?.[1]
    return name === undefined || new RegExp(`(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`).test(text)
  })
  return needed.length > 0 ? [needed.join('\n')] : []
}

const NAME =
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|function|const|let|interface|type|enum|namespace) ([\w$]+)/m

function readName(block) {
  return NAME.exec(block)?.[1] ?? block
}

function compareNames(a, b) {
  const [first, second] = [readName(a), readName(b)]
  if (first === second) return a < b ? -1 : 1
  return first < second ? -1 : 1
}
