import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const FOLDERS = ['client', 'routes', 'adapters', 'stores', 'testing']
/** Exported files that are read or served, and not imported. */
export const ASSETS = ['./package.json', './client/bundle']

// What runs without Node's modules.
const WITHOUT_NODE = ['errors', 'client/index']

/**
 * The modules that package.json exports: the file and the declarations of each, as an ES module and as CommonJS.
 *
 * `types` and `default` are `undefined` where package.json does not have them as `toConditions` writes them.
 */
export function listSubpaths({ exports }) {
  const subpaths = Object.entries(exports).filter(([subpath]) => !ASSETS.includes(subpath))
  return subpaths.map(([subpath, target]) => {
    const { types, default: file } = target.default ?? {}
    return { subpath, target, types, default: file, files: listFiles(target) }
  })
}

/**
 * What `exports` must say for an entry such as `adapters/hono`.
 *
 * Node 20.19 and later know `module-sync`, and load the ES module for `require` too; so does Bun, by its own name. What
 * knows neither gets CommonJS for `require`.
 */
export function toConditions(entry) {
  const esModule = toTarget(`./dist/${entry}`)
  const commonJs = toTarget(`./dist/cjs/${entry}`)
  // What needs Node is refused by a build for the edge runtime of Next.js.
  // Some tools set `edge-light` for Workers too, which have Node's modules.
  const edge = WITHOUT_NODE.includes(entry)
    ? {}
    : { workerd: esModule, 'edge-light': './dist/edge-light.cjs' }
  return { ...edge, 'module-sync': esModule, bun: esModule, require: commonJs, default: esModule }
}

function toTarget(path) {
  return { types: `${path}.d.ts`, default: `${path}.js` }
}

function listFiles(target) {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(listFiles)
}

/** The files under src that are meant as entries, relative to it and without extension: `adapters/hono`. */
export function listEntries(root) {
  return [
    'index',
    'errors',
    'opentelemetry',
    'providers',
    'store-kit',
    'adapter-kit',
    ...FOLDERS.flatMap((folder) => entriesOf(join(root, 'src'), folder)),
  ]
}

// A folder with an index is one entry, and what lies beside the index is its own business.
function entriesOf(src, folder) {
  if (!existsSync(join(src, folder))) return []
  if (existsSync(join(src, folder, 'index.ts'))) return [`${folder}/index`]
  return readdirSync(join(src, folder), { withFileTypes: true }).flatMap((file) => {
    if (!file.isDirectory()) return `${folder}/${file.name.replace(/\.ts$/, '')}`
    return existsSync(join(src, folder, file.name, 'index.ts')) ? `${folder}/${file.name}/index` : []
  })
}
