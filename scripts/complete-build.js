// Completes what `tsc` has written: in dist/cjs the type of its modules and the one package that CommonJS cannot load
// everywhere (docs/decisions/0034-two-builds-one-copy.md), and in dist the client in one file and the refusal of runtimes
// without Node's modules.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { root } from './pack.js'

const folder = join(root, 'dist/cjs')

// The package.json above says "module". Bundlers look for `sideEffects` in the nearest one.
const manifest = { type: 'commonjs', sideEffects: false }
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

// cookie-es is published as an ES module only. Its licence has to stay with its code.
const licence = readFileSync(join(root, 'node_modules/cookie-es/LICENSE'), 'utf8').trim()
await build({
  entryPoints: [join(root, 'src/http/cookies.ts')],
  outfile: join(folder, 'http/cookies.js'),
  allowOverwrite: true,
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  banner: { js: `/*\n${licence}\n*/` },
  logLevel: 'error',
})
// No declaration refers to this one, and a CommonJS declaration must not refer to an ES module.
rmSync(join(folder, 'http/cookies.d.ts'))

// For pages without a bundler: the client in one file.
await build({
  entryPoints: [join(root, 'dist/client/index.js')],
  outfile: join(root, 'dist/client/bundle.js'),
  bundle: true,
  minify: true,
  platform: 'browser',
  format: 'esm',
  target: 'es2022',
  banner: { js: '// @tokenlib/client in one file, MIT licence' },
  logLevel: 'error',
})

// What a build for the edge runtime of Next.js or Vercel finds instead of the package. Nothing but a module that cannot be
// resolved makes such a build fail, so its name says what to do. It has no colon: Turbopack would take the text for a URL,
// and leave it as it is.
const refusal =
  'tokenlib needs the Node.js runtime. Rename middleware.ts to proxy.ts (Next.js 16), ' +
  "set `runtime` to 'nodejs' in the config of middleware.ts (Next.js 15), " +
  "or remove `export const runtime = 'edge'` from the route"
writeFileSync(join(root, 'dist/edge-light.cjs'), `module.exports = require(${JSON.stringify(refusal)})\n`)
