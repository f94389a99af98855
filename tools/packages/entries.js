/** Exported files that are read or served, and not imported. */
export const ASSETS = ['./package.json', './bundle']

// Entries of `tokenlib` that run without Node's modules.
const WITHOUT_NODE = ['errors']

/** The fields of package.json that say where the entries of a package are. */
export const ENTRY_FIELDS = ['main', 'types', 'typesVersions', 'exports']

/**
 * What these fields must be for the entries of a package, such as `{ index: 'packages/client/src/index.ts' }`.
 *
 * `main`, `types` and `typesVersions` are for TypeScript's `node10` resolution, which does not read `exports`.
 */
export function toEntryFields({ name, manifest, entries }) {
  if (manifest.bin !== undefined) return { exports: { './package.json': './package.json' } }
  const names = Object.keys(entries)
  const others = names.filter((entry) => entry !== 'index')
  return {
    main: './dist/index.cjs',
    types: './dist/index.d.cts',
    ...(others.length > 0 && {
      typesVersions: { '*': Object.fromEntries(others.map((entry) => [entry, [`./dist/${entry}.d.cts`]])) },
    }),
    exports: {
      ...Object.fromEntries(
        names.map((entry) => [entry === 'index' ? '.' : `./${entry}`, toConditions(manifest.name, entry)]),
      ),
      ...(name === 'client' && { './bundle': './dist/bundle.js' }),
      './package.json': './package.json',
    },
  }
}

/**
 * Node 20.19 and later know `module-sync`, and load the ES module for `require` too; so does Bun, by its own name. What
 * knows neither gets CommonJS for `require`.
 */
function toConditions(packageName, entry) {
  const esModule = { types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` }
  const commonJs = { types: `./dist/${entry}.d.cts`, default: `./dist/${entry}.cjs` }
  // What needs Node is refused by a build for the edge runtime of Next.js. The other packages import `tokenlib`, which is.
  // Some tools set `edge-light` for Workers too, which have Node's modules.
  const isRefused = packageName === 'tokenlib' && !WITHOUT_NODE.includes(entry)
  const edge = isRefused ? { workerd: esModule, 'edge-light': './dist/edge-light.cjs' } : {}
  return { ...edge, 'module-sync': esModule, bun: esModule, require: commonJs, default: esModule }
}

/** The modules that a package.json exports: by which name, and the files of each. */
export function listSubpaths({ name, exports }) {
  const subpaths = Object.entries(exports).filter(([subpath]) => !ASSETS.includes(subpath))
  return subpaths.map(([subpath, target]) => ({
    subpath,
    specifier: subpath.replace('.', name),
    types: target.default?.types,
    files: listFiles(target),
  }))
}

function listFiles(target) {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(listFiles)
}
