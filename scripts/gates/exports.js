import { listEntries, listSubpaths } from './entries.js'
import { assertNone } from '../run.js'

/** The subpaths of package.json, the entry files under src and the published files are the same list. */
export function checkExports({ root, manifest, paths }) {
  const entries = listEntries(root)
  const subpaths = listSubpaths(manifest)
  const exported = new Set(subpaths.map((subpath) => subpath.default))

  const problems = [
    ...subpaths.flatMap(({ subpath, files }) =>
      files
        .filter((file) => !paths.has(file.replace('./', '')))
        .map((file) => `${subpath} names ${file}, which is not published`),
    ),
    ...subpaths
      .filter(({ default: file }) => !entries.some((entry) => file === `./dist/${entry}.js`))
      .map(({ subpath, default: file }) => `${subpath} names ${file}, which no entry under src builds`),
    ...subpaths
      .filter(({ types, default: file }) => types !== file?.replace(/\.js$/, '.d.ts'))
      .map(({ subpath }) => `${subpath} needs "types" and "default", of the same module`),
    ...entries
      .filter((entry) => !exported.has(`./dist/${entry}.js`))
      .map((entry) => `src/${entry}.ts is not exported by package.json`),
  ]
  assertNone(problems)
  return `${subpaths.length} subpaths, ${entries.length} entry files`
}
