import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|function\*?|const|let|interface|type|enum|namespace) ([\w$]+)/gm
const LIST = /^export (?:type )?\{([^}]*)\}/gm
const STAR = /^export (?:type )?\* from ['"](.+)['"]/gm

/** Every name, of a value or a type, that a source or a .d.ts file exports. */
export function listExportedNames(file) {
  return new Set(listExports(file).map(({ name }) => name))
}

/** The same, each with the name that its declaration has: `export { Reply as RedisReply }` has two. */
export function listExports(file) {
  const source = readFileSync(file, 'utf8')
  const all = (pattern) => Array.from(source.matchAll(pattern), ([, found]) => found)

  const listed = all(LIST).flatMap((list) => list.split(','))
  const extension = file.endsWith('.d.ts') || file.endsWith('.d.cts') ? '.d.$1ts' : '.$1ts'
  const reexported = all(STAR).map((from) => join(dirname(file), from.replace(/\.(c?)js$/, extension)))
  return [
    ...all(DECLARATION).map((name) => ({ name, declared: name })),
    ...listed.flatMap((item) => {
      const [declared, name = declared] = item
        .trim()
        .replace(/^type /, '')
        .split(' as ')
      return declared === '' ? [] : [{ name, declared }]
    }),
    ...reexported.flatMap(listExports),
  ]
}
