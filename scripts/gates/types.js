import { run } from '../run.js'

/** Are the types wrong? Every entry point resolves to its types, as ES modules and bundlers see it. */
export async function checkTypes({ root, tarball }) {
  const options = [
    '--profile',
    'esm-only',
    '--no-definitely-typed',
    '--format',
    'ascii',
    '--no-color',
    '--no-emoji',
  ]
  const report = await run('npx', ['--no', 'attw', tarball, ...options], root)
  return `${report.match(/^"/gm).length} entry points resolve`
}
