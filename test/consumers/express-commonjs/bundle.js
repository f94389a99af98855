'use strict'
// Bundles the application with three bundlers, for Node, from CommonJS and from ES modules, and uses each bundle.
const { execFileSync } = require('node:child_process')
const { mkdirSync, writeFileSync } = require('node:fs')
const { resolve } = require('node:path')
const esbuild = require('esbuild')
const { rollup } = require('rollup')
const commonjs = require('@rollup/plugin-commonjs')
const json = require('@rollup/plugin-json')
const { nodeResolve } = require('@rollup/plugin-node-resolve')
const webpack = require('webpack')

// What the two files load the package with.
const SOURCES = { require: 'app.js', import: 'build/module/app-typescript.js' }
const BANNER = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

const BUNDLERS = {
  async esbuild(source, format, outfile) {
    const banner = format === 'esm' ? { js: BANNER } : {}
    await esbuild.build({
      entryPoints: [source],
      outfile,
      bundle: true,
      platform: 'node',
      format,
      banner,
      logLevel: 'warning',
    })
  },
  async rollup(source, format, file) {
    const bundle = await rollup({
      input: source,
      external: [/^node:/, 'express'],
      plugins: [nodeResolve({ preferBuiltins: true }), commonjs(), json()],
      onwarn: () => undefined,
    })
    await bundle.write({ file, format })
    await bundle.close()
  },
  webpack(source, format, file) {
    const isModule = format === 'esm'
    const configuration = {
      mode: 'production',
      target: 'node20',
      entry: resolve(source),
      experiments: { outputModule: isModule },
      externals: { express: 'node-commonjs express' },
      // In production the memory store is refused.
      optimization: { minimize: false, nodeEnv: false },
      output: {
        path: resolve('build/bundles'),
        filename: file.replace('build/bundles/', ''),
        library: { type: isModule ? 'module' : 'commonjs2' },
      },
    }
    return new Promise((done, fail) => {
      webpack(configuration, (error, stats) => {
        if (error || stats.hasErrors()) fail(error ?? new Error(stats.toString('errors-only')))
        else done()
      })
    })
  },
}

async function run() {
  writeFileSync('build/module/package.json', '{ "type": "module" }')
  mkdirSync('build/bundles', { recursive: true })
  for (const [name, bundle] of Object.entries(BUNDLERS)) {
    for (const [kind, source] of Object.entries(SOURCES)) {
      for (const format of ['cjs', 'esm']) {
        const file = `build/bundles/${name}-${kind}.${format === 'esm' ? 'mjs' : 'cjs'}`
        await bundle(source, format, file)
        execFileSync(process.execPath, ['use.js', file], { stdio: 'inherit' })
      }
    }
  }
}

run().catch((error) => {
  console.error(error)
  process.exit(1)
})
