import { isDeepStrictEqual } from 'node:util'
import { assertNone } from '../run.js'
import { ENTRY_FIELDS, listSubpaths, toEntryFields } from './entries.js'

/** The fields of package.json that name entries are what the table of public names says, and every file is published. */
export function checkExports(packed) {
  const { manifest, paths } = packed
  const expected = toEntryFields(packed)
  const subpaths = listSubpaths(manifest)
  assertNone([
    ...ENTRY_FIELDS.filter((field) => !isDeepStrictEqual(manifest[field], expected[field])).map(
      (field) => `"${field}" must be ${JSON.stringify(expected[field])}: npm run manifests`,
    ),
    // The order of conditions counts.
    ...(JSON.stringify(manifest.exports) === JSON.stringify(expected.exports)
      ? []
      : ['"exports" is not in the order of npm run manifests']),
    ...[...subpaths.flatMap(({ files }) => files), ...Object.values(manifest.bin ?? {})]
      .filter((file) => !paths.has(file.replace('./', '')))
      .map((file) => `${file} is not published`),
  ])
  return `${subpaths.length} subpaths`
}
