import { run } from '../run.js'
import { ASSETS } from './entries.js'

/** Are the types wrong? Every entry point resolves to its types in each resolution: node10, node16 from CommonJS and ES modules, bundler. */
export async function checkTypes({ root, tarball }) {
  const options = [
    '--exclude-entrypoints',
    ...ASSETS,
    '--no-definitely-typed',
    '--format',
    'ascii',
    '--no-color',
    '--no-emoji',
  ]
  const report = await run('npx', ['--no', 'attw', tarball, ...options], root)
  return `${report.match(/^"/gm).length} entry points resolve`
}
