import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../shared/root.js'

const SHORT_LINES = 25

/** The size of a folder with sources, and the files in it that import each other in a circle, also for types only. */
export function measureSources(folder) {
  const files = readdirSync(join(root, folder), { recursive: true })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const text = readFileSync(join(root, folder, path), 'utf8')
      return { path, text, lines: text.trimEnd().split('\n').length }
    })
  const count = (some) => some.reduce((sum, { lines }) => sum + lines, 0)
  return {
    files: files.length,
    lines: count(files),
    linesToRead: count(files.filter(({ path }) => !/^(?:stores|frameworks)\//.test(path))),
    longest: files.toSorted((a, b) => b.lines - a.lines)[0],
    short: files.filter(({ lines }) => lines < SHORT_LINES).length,
    nest: files.filter(({ path }) => path.startsWith('frameworks/nest')).length,
    circular: listCircular(files),
  }
}

function listCircular(files) {
  const left = new Map(files.map(({ path, text }) => [path, readImports(path, text)]))
  // Takes away, again and again, what imports nothing that is left, or is imported by nothing.
  for (let size = -1; size !== left.size;) {
    size = left.size
    const imported = new Set([...left.values()].flat())
    for (const [path, targets] of left) {
      if (!imported.has(path) || !targets.some((target) => left.has(target))) left.delete(path)
    }
  }
  return [...left.keys()]
}

function readImports(path, text) {
  const code = text.replaceAll(/^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)$/gm, '')
  return Array.from(code.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g), ([, name]) =>
    join(path, '..', name).replace(/\.js$/, '.ts'),
  )
}
