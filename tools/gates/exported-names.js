import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:class|function|const|let|interface|type|enum|namespace) ([\w$]+)/gm
const LIST = /^export (?:type )?\{([^}]*)\}/gm
const STAR = /^export (?:type )?\* from ['"](.+)['"]/gm

/** Every name, of a value or a type, that a .d.ts file exports; reads the statements as the bundler prints them. */
export function listExportedNames(file) {
  const source = readFileSync(file, 'utf8')
  const all = (pattern) => Array.from(source.matchAll(pattern), ([, found]) => found)

  const listed = all(LIST).flatMap((list) => list.split(','))
  const reexported = all(STAR).map((from) => join(dirname(file), from.replace(/\.(c?)js$/, '.d.$1ts')))
  return new Set([
    ...all(DECLARATION),
    ...listed.map((item) => item.trim().split(/\s+/).at(-1)).filter((name) => name !== ''),
    ...reexported.flatMap((path) => [...listExportedNames(path)]),
  ])
}
