import { ASSETS, listEntries, listSubpaths, toConditions } from './entries.js'
import { assertNone } from '../run.js'

/**
 * The subpaths of package.json, the entry files under src and the published files are the same list, and every way to
 * resolve a subpath finds it: `exports` with its conditions, and `main`, `types` and `typesVersions` for TypeScript's
 * `node10` resolution, which does not read `exports`.
 */
export function checkExports({ root, manifest, paths }) {
  const entries = listEntries(root)
  const subpaths = listSubpaths(manifest)
  const exported = new Set(subpaths.map((subpath) => subpath.default))

  const problems = [
    ...ASSETS.filter((asset) => !paths.has(String(manifest.exports[asset]).replace('./', ''))).map(
      (asset) => `${asset} names a file that is not published`,
    ),
    ...subpaths.flatMap(({ subpath, files }) =>
      files
        .filter((file) => !paths.has(file.replace('./', '')))
        .map((file) => `${subpath} names ${file}, which is not published`),
    ),
    ...subpaths.flatMap(({ subpath, target, default: file }) => {
      const entry = entries.find((one) => file === `./dist/${one}.js`)
      if (entry === undefined) return [`${subpath} names ${file}, which no entry under src builds`]
      const expected = JSON.stringify(toConditions(entry))
      return JSON.stringify(target) === expected ? [] : [`${subpath} must be, in this order, ${expected}`]
    }),
    ...entries
      .filter((entry) => !exported.has(`./dist/${entry}.js`))
      .map((entry) => `src/${entry}.ts is not exported by package.json`),
    ...listNode10Problems(manifest, subpaths),
  ]
  assertNone(problems)
  return `${subpaths.length} subpaths, ${entries.length} entry files`
}

function listNode10Problems(manifest, subpaths) {
  const versions = manifest.typesVersions?.['*'] ?? {}
  const expected = new Map(
    subpaths.map(({ subpath, target }) => [subpath.replace(/^\.\/?/, ''), target.require ?? {}]),
  )
  const { types, default: main } = expected.get('') ?? {}
  expected.delete('')
  return [
    ...(manifest.main === main ? [] : [`"main" must be ${main}`]),
    ...(manifest.types === types ? [] : [`"types" must be ${types}`]),
    ...[...expected]
      .filter(([name, target]) => versions[name]?.length !== 1 || versions[name][0] !== target.types)
      .map(([name, target]) => `"typesVersions" must have ${JSON.stringify({ [name]: [target.types] })}`),
    ...Object.keys(versions)
      .filter((name) => !expected.has(name))
      .map((name) => `"typesVersions" names ${name}, which is not exported`),
  ]
}
