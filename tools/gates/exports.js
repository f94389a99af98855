import { isDeepStrictEqual } from 'node:util'
import { assertNone } from '../shared/report.js'
import { ENTRY_FIELDS, listSubpaths, toEntryFields } from '../packages/entries.js'

/** What every package.json says of its entries is what the table of public names says, and each file is published. */
export function checkExports({ packages }) {
  assertNone(packages.flatMap(listProblems))
  const counts = packages.map(({ manifest }) => `${manifest.name} ${listSubpaths(manifest).length}`)
  return `subpaths: ${counts.join(', ')}`
}

function listProblems(one) {
  const { manifest, paths } = one
  const expected = toEntryFields(one)
  const files = [
    ...listSubpaths(manifest).flatMap((subpath) => subpath.files),
    ...Object.values(manifest.bin ?? {}),
  ]
  return [
    ...ENTRY_FIELDS.filter((field) => !isSame(manifest[field], expected[field])).map(
      (field) =>
        `${manifest.name}: "${field}" is not what the names in tsconfig.json say: node tools/packages/manifests.js`,
    ),
    ...files
      .filter((file) => !paths.has(file.replace('./', '')))
      .map((file) => `${manifest.name}: ${file} is not published`),
  ]
}

// The order of conditions counts.
function isSame(value, expected) {
  return isDeepStrictEqual(value, expected) && JSON.stringify(value) === JSON.stringify(expected)
}
