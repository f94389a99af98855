import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { commonTokens } from '@stryker-mutator/api/plugin'
import { createInstrumenter } from '@stryker-mutator/instrumenter'
import { createInjector } from 'typed-inject'
import { strykerPlugins } from '../mutation/ignore-error-texts.js'
import { bundleTypeScript } from '../shared/import-typescript.js'
import { root } from '../shared/root.js'

/**
 * Bundles the simulation with every variant of some files in it. `globalThis.__stryker__.activeMutant` is the id of the
 * one that is switched on.
 */
export async function bundleVariants(files, outfile) {
  const silent = () => {}
  const logger = {
    isDebugEnabled: () => false,
    info: silent,
    debug: silent,
    warn: silent,
    error: silent,
    trace: silent,
  }
  const instrumenter = createInstrumenter(createInjector().provideValue(commonTokens.logger, logger))
  const given = files.map((name) => ({
    name: join(root, name),
    mutate: true,
    content: readFileSync(join(root, name), 'utf8'),
  }))
  const { files: instrumented, mutants } = await instrumenter.instrument(given, {
    ignorers: strykerPlugins.map(({ value }) => value),
    excludedMutations: [],
    plugins: null,
  })
  const contents = new Map(instrumented.map(({ name, content }) => [name, content]))
  const plugin = {
    name: 'variants',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) =>
        contents.has(path) ? { contents: contents.get(path), loader: 'ts' } : undefined,
      )
    },
  }
  await bundleTypeScript('test/simulation/main.ts', outfile, [plugin])
  return mutants
}
