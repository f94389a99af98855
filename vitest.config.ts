import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { writeConsoleAssets } from './tools/packages/console-assets.js'

writeConsoleAssets()

const path = (relative: string): string => fileURLToPath(new URL(`./${relative}`, import.meta.url))

// The packages by their public names, as TypeScript sees them.
const { compilerOptions } = JSON.parse(readFileSync(path('tsconfig.json'), 'utf8')) as {
  compilerOptions: { paths: Record<string, [string]> }
}
const source = Object.entries(compilerOptions.paths)
  .filter(([name]) => /^@?tokenlib/.test(name))
  .map(([name, [file]]) => ({ find: new RegExp(`^${name}$`), replacement: path(file) }))
const nest11 = [{ find: /^@nestjs\/(.+)$/, replacement: path('test/nest-11/node_modules/@nestjs/$1') }]

// The path of a test file says which project runs it: a folder, or the ending of its name. All others are unit tests.
const INTEGRATION = [
  'test/{adapters,browser}/**/*.test.ts',
  'test/stores/{mysql,postgres,redis,sqlite}*.test.ts',
  'test/**/*.integration.test.ts',
]
// The integration tests of `npm test`: each store with one client, two frameworks, the build, a browser and a few seeds
// of the simulation.
const SMOKE = [
  'test/stores/{postgres,redis,sqlite}.test.ts',
  'test/adapters/nest.test.ts',
  'test/application/{built,fastify}.integration.test.ts',
  'test/browser/example-page.test.ts',
  'test/simulation/simulation.integration.test.ts',
]
// Slow integration tests, unit tests that compute for a long time, and the checks of the benchmarks.
const LONG = ['test/{benchmarks,fuzz,properties,vectors}/**/*.test.ts', 'test/**/*.long.test.ts']
const EVIDENCE = ['test/faults/**/*.test.ts', 'test/**/*.evidence.test.ts']
const NEST = 'test/adapters/nest*.test.ts'
// What calls no more of Nest than the tests that run on both versions.
const NEST_12_ONLY =
  'test/adapters/nest-{format-error,matrix,requests,session-routes,socket-io,tenants}.test.ts'

const OWN_PROCESS = { pool: 'forks', isolate: true, testTimeout: 120_000 } as const

// Files that take minutes. One that starts last leaves the other workers idle, and a fresh clone has no recorded durations to
// sort by.
const LONGEST = /\/(?:simulation|model|browser-evidence|site|properties)\//

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not that of an array
    const sorted = await super.sort(files)
    const isLongest = ({ moduleId }: TestSpecification): boolean => LONGEST.test(moduleId)
    return [...sorted.filter(isLongest), ...sorted.filter((file) => !isLongest(file))]
  }
}

// It slows every test down, so `npm test` goes without. Everything else has it.
let searchesLeaks = true

/** Unit tests run first. The other projects share one queue, so that some tests compute while others wait. */
function createProject(
  name: string,
  test: TestProjectInlineConfiguration['test'],
  alias = source,
): TestProjectInlineConfiguration {
  return {
    resolve: { alias },
    test: {
      name,
      pool: 'threads',
      isolate: false,
      maxWorkers: availableParallelism() + (name === 'unit' ? 0 : 1),
      sequence: { groupOrder: name === 'unit' ? 0 : 1 },
      testTimeout: 30_000,
      hookTimeout: 30_000,
      setupFiles: [
        'test/helpers/detach-generated-keys.ts',
        'test/helpers/require-assertions.ts',
        ...(searchesLeaks ? ['test/leaks/watch-for-leaks.ts'] : []),
      ],
      provide: { hasServers: name !== 'unit' },
      ...test,
      exclude: ['**/node_modules/**', 'test/consumers/**', ...(test?.exclude ?? [])],
    },
  }
}

export default defineConfig(({ mode }) => {
  searchesLeaks = mode !== 'everyday'
  return {
    test: {
      sequence: { sequencer: LongestFirst },
      globalSetup: [
        'test/helpers/servers/global-setup.ts',
        ...(searchesLeaks ? ['test/leaks/leak-summary.ts'] : []),
      ],
      projects: [
        createProject('unit', {
          include: ['test/**/*.test.ts'],
          exclude: [...INTEGRATION, ...LONG, ...EVIDENCE],
        }),
        createProject('smoke', { include: SMOKE }),
        createProject('integration', {
          include: INTEGRATION,
          exclude: [...SMOKE, ...LONG, ...EVIDENCE],
        }),
        // The tests of Nest's own interfaces once more, on the version before.
        createProject('nest 11', { include: [NEST], exclude: [NEST_12_ONLY] }, [...source, ...nest11]),
        createProject('long', { testTimeout: 120_000, include: LONG }),
        // In processes of their own: these tests count descriptors, measure memory and kill servers.
        createProject('evidence', { ...OWN_PROCESS, include: EVIDENCE }),
      ],
    },
  }
})
