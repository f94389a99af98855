// Bundles every package into its dist: npm run build
// docs/decisions/0067-one-bundle-per-package.md says why, and what the chunks are.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decode, encode } from '@jridgewell/sourcemap-codec'
import { build } from 'tsdown'
import { writeConsoleAssets } from './console-assets.js'
import { listPackages } from './packages.js'
import { root } from '../shared/root.js'

// What entries share, in a few chunks instead of one for every set of entries. A group takes what its modules import along,
// and those above come first.
const GROUPS = [
  // Runs without Node's modules: browsers and edge runtimes may import `errors`.
  { name: 'base', test: /\/src\/errors\.ts$/ },
  { name: 'core', test: /^(?!.*\/src\/(?:stores|frameworks)\/).*(?<!\.d)\.ts$/, minShareCount: 2 },
  { name: 'stores', test: /\/src\/stores\/.*(?<!\.d)\.ts$/, minShareCount: 2 },
  { name: 'frameworks', test: /\/src\/frameworks\/.*(?<!\.d)\.ts$/, minShareCount: 2 },
  // The declarations of frameworks refer to Node's, which a project for another runtime may not have. Those of Socket.IO do
  // not, and the kit has them.
  { name: 'types.d', test: /^(?!.*\/src\/frameworks\/(?!socket-io\.)).*\.d\.ts$/, minShareCount: 2 },
  { name: 'frameworks.d', test: /\/src\/frameworks\/(?!socket-io\.).*\.d\.ts$/, minShareCount: 2 },
]

// cookie-es is published as an ES module only. Its licence has to stay with its code.
const BUNDLED = 'cookie-es'
const LICENCE = readFileSync(join(root, 'node_modules', BUNDLED, 'LICENSE'), 'utf8').trim()

// What a build for the edge runtime of Next.js or Vercel finds instead of the package. Nothing but a module that cannot be
// resolved makes such a build fail, so its name says what to do. It has no colon: Turbopack would take the text for a URL,
// and leave it as it is.
const EDGE_REFUSAL =
  'tokenlib needs the Node.js runtime. Rename middleware.ts to proxy.ts (Next.js 16), ' +
  "set `runtime` to 'nodejs' in the config of middleware.ts (Next.js 15), " +
  "or remove `export const runtime = 'edge'` from the route"

writeConsoleAssets()
for (const { name, folder, entries } of listPackages()) {
  const cwd = join(root, folder)
  const isProgram = name === 'cli'
  await bundle({
    cwd,
    entry: Object.fromEntries(Object.entries(entries).map(([entry, file]) => [entry, join(root, file)])),
    format: isProgram ? ['esm'] : ['esm', 'cjs'],
    platform: name === 'client' ? 'neutral' : 'node',
    sourcemap: true,
    // Without the type checker: the sources satisfy `isolatedDeclarations`.
    dts: !isProgram && { oxc: true, sourcemap: false },
    outputOptions: {
      ...(name === 'tokenlib' && { codeSplitting: { groups: GROUPS } }),
      // The declarations have them.
      comments: { jsdoc: false },
      postBanner: ({ moduleIds }) =>
        moduleIds.some((id) => id.includes(`/${BUNDLED}/`)) ? `/*\n${LICENCE}\n*/` : '',
    },
  })
  shortenSourceMaps(join(cwd, 'dist'))
  if (!isProgram) shareDeclarations(join(cwd, 'dist'))
  copyFileSync(join(root, 'LICENSE'), join(cwd, 'LICENSE'))
}
copyFileSync(join(root, 'README.md'), join(root, 'packages/tokenlib/README.md'))

// For pages without a bundler: the client in one file.
const client = join(root, 'packages/client')
await bundle({
  cwd: client,
  entry: { bundle: join(client, 'src/index.ts') },
  format: ['esm'],
  platform: 'browser',
  clean: false,
  minify: true,
  dts: false,
  outputOptions: {
    codeSplitting: false,
    postBanner: '// @tokenlib/client in one file, MIT licence',
  },
})

writeFileSync(
  join(root, 'packages/tokenlib/dist/edge-light.cjs'),
  `module.exports = require(${JSON.stringify(EDGE_REFUSAL)})\n`,
)

function bundle(options) {
  return build({
    config: false,
    target: 'es2023',
    tsconfig: join(options.cwd, 'tsconfig.json'),
    fixedExtension: false,
    hash: false,
    deps: { onlyBundle: [BUNDLED], alwaysBundle: [BUNDLED] },
    inputOptions: { checks: { pluginTimings: false } },
    checks: { legacyCjs: false },
    report: false,
    logLevel: 'warn',
    failOnWarn: true,
    ...options,
  })
}

/** Leaves of the source maps what a stack trace needs: the file and line of each line. It is a tenth of the bytes. */
function shortenSourceMaps(folder) {
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.map'))) {
    const { sourcesContent: _, mappings, ...map } = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    const lines = decode(mappings).map((segments) =>
      segments.slice(0, 1).map((segment) => segment.slice(0, 4)),
    )
    writeFileSync(join(folder, file), JSON.stringify({ ...map, names: [], mappings: encode(lines) }))
  }
}

/**
 * Lets both builds have the same declarations, so that a class of one is a class of the other, and half the bytes go.
 *
 * A file that imports another package stays: what that package declares may differ between `import` and `require`.
 */
function shareDeclarations(folder) {
  for (const file of readdirSync(folder).filter((name) => /\.d\.c?ts$/.test(name))) {
    const path = join(folder, file)
    const text = removeUnusedImports(
      readFileSync(path, 'utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'),
    )
    const imported = Array.from(
      text.matchAll(/^(?:import|export) [^;]*? from "([^"]+)"/gm),
      ([, from]) => from,
    )
    const isShared =
      file.endsWith('.d.ts') && !imported.some((from) => /^(?!\.|node:|@standard-schema\/)/.test(from))
    writeFileSync(path, isShared ? `export * from "./${file.replace('.d.ts', '.cjs')}";\n` : text)
  }
}

/** The bundler leaves imports of declarations that it has removed. */
function removeUnusedImports(text) {
  const code = text.replaceAll(/\/\*[^]*?\*\//g, '')
  return text.replaceAll(/^import \{ ([^}]+) \} from "[^"]+";\n/gm, (statement, names) => {
    const used = names.split(', ').filter((name) => {
      const local = name.split(' ').at(-1).replaceAll('$', '\\$&')
      return code.match(new RegExp(`(?<![\\w$])${local}(?![\\w$])`, 'g')).length > 1
    })
    return used.length === 0 ? '' : statement.replace(names, used.join(', '))
  })
}
