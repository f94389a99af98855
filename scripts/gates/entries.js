import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const FOLDERS = ['adapters', 'stores', 'testing']

/** The subpaths that package.json exports, with the files each one names. */
export function listSubpaths({ exports }) {
  const subpaths = Object.entries(exports).filter(([subpath]) => subpath !== './package.json')
  return subpaths.map(([subpath, target]) => {
    const conditions = typeof target === 'string' ? { default: target } : target
    return { subpath, ...conditions, files: Object.values(conditions) }
  })
}

/** The files under src that are meant as entries, relative to it and without extension: `adapters/hono`. */
export function listEntries(root) {
  return [
    'index',
    'errors',
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
