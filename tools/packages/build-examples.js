// Compiles the example application into build/examples, where it imports the built packages, and adds the files of its
// pages. `npm run typecheck` checks its types. npm run build:examples builds the packages first.
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from '../shared/root.js'

const [source, target] = [join(root, 'examples'), join(root, 'build/examples')]

rmSync(target, { recursive: true, force: true })
await build({
  entryPoints: readdirSync(source, { recursive: true })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map((path) => join(source, path)),
  outbase: source,
  outdir: target,
  format: 'esm',
  target: 'es2023',
  tsconfig: join(root, 'tsconfig.json'),
  logLevel: 'error',
})
for (const folder of ['page', 'nest-browser/public']) {
  cpSync(join(source, folder), join(target, folder), { recursive: true })
}
