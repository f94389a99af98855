import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertNone } from '../shared/report.js'

const EXPORT =
  /^export (?:default )?(?:declare )?(?:abstract )?(?:async )?(class|function\*?|const|let|interface|type|enum|namespace) ([\w$]+)/gm
// Of a package that we bundle.
const FOREIGN = /^export \{ ()([\w$]+) \} from '[^.][^']*'$/gm
// A block comment that ends where the declaration, or the decorators on it, begin.
const JSDOC = /\/\*\*((?:(?!\*\/)[^])*)\*\/\n(?:@[\w.]+(?:\((?:[^()]|\([^()]*\))*\))?\s*)*$/

/** Every exported declaration in the sources of the packages has a JSDoc sentence directly above it. */
export function checkDocumented({ root, packages }) {
  const exports = listDeclarations({ root, packages })
  assertNone(
    exports.filter(({ hasSentence }) => !hasSentence).map(({ at, name }) => `${at} ${name} has no sentence`),
  )
  return `${exports.length} exported declarations`
}

/** Every exported declaration in the sources of packages: where it is, its name, and whether it has a sentence. */
export function listDeclarations({ root, packages }) {
  const files = packages.flatMap(({ folder }) => {
    const source = join(folder, 'src')
    return readdirSync(join(root, source), { recursive: true })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(source, file))
  })
  return files.flatMap((file) => listExports(readFileSync(join(root, file), 'utf8'), file))
}

function listExports(source, file) {
  const overloaded = new Set()
  const found = [...source.matchAll(EXPORT), ...source.matchAll(FOREIGN)]
  return found.map(({ 1: kind, 2: name, index }) => {
    const before = source.slice(0, index)
    const hasSentence = isSentence(JSDOC.exec(before)?.[1] ?? '')
    // The implementation of an overloaded function follows its documented signatures, and nobody sees it.
    const isImplementation = overloaded.has(name)
    if (hasSentence && kind === 'function') overloaded.add(name)
    return { at: `${file}:${before.split('\n').length}`, name, hasSentence: hasSentence || isImplementation }
  })
}

// What stands before the first tag, without the stars: a capital, code or a digit first, an end mark last.
function isSentence(comment) {
  const text = comment
    .replaceAll(/^\s*\* ?/gm, '')
    .split(/^@/m, 1)[0]
    .trim()
  return /^[^a-z][^]*[.!?]$/.test(text)
}
