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
  'test/{adapters,benchmarks,browser,fuzz,properties,vectors}/**/*.test.ts',
  'test/stores/{mysql,postgres,redis,sqlite}*.test.ts',
  'test/**/*.{integration,long}.test.ts',
]
// The integration tests of `npm test`: the Redis, PostgreSQL and SQLite stores, Nest and Fastify, the built example
// application, the example page in Chromium and a short simulation.
const SMOKE = [
  'test/stores/{postgres,redis,sqlite}.test.ts',
  'test/adapters/nest.test.ts',
  'test/application/{built,fastify}.integration.test.ts',
  'test/browser/example-page.test.ts',
  'test/simulation/simulation.integration.test.ts',
]
const EVIDENCE = ['test/faults/**/*.test.ts', 'test/**/*.evidence.test.ts']
const NEST = 'test/adapters/nest*.test.ts'
// They use only those parts of Nest that the other tests cover on both versions.
const NEST_12_ONLY =
  'test/adapters/nest-{format-error,matrix,requests,session-routes,socket-io,tenants}.test.ts'

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

/** Unit tests run first. The other projects share one queue, so that some tests compute while others wait. */
function createProject(
  name: string,
  test: TestProjectInlineConfiguration['test'],
  alias = source,
): TestProjectInlineConfiguration {
  const isUnit = name === 'unit'
  return {
    resolve: { alias },
    test: {
      name,
      pool: 'threads',
      isolate: false,
      maxWorkers: availableParallelism() + (isUnit ? 0 : 1),
      sequence: { groupOrder: isUnit ? 0 : 1 },
      testTimeout: 30_000,
      hookTimeout: 30_000,
      provide: { hasServers: !isUnit },
      ...test,
      setupFiles: [
        'test/helpers/detach-generated-keys.ts',
        'test/helpers/require-assertions.ts',
        ...(test?.setupFiles ?? []),
      ],
      exclude: ['**/node_modules/**', 'test/consumers/**', ...(test?.exclude ?? [])],
    },
  }
}

// `npm test` runs in mode `everyday`: only the unit tests and SMOKE, and no leak search, which slows every test down.
export default defineConfig(({ mode }) => {
  const isEveryday = mode === 'everyday'
  const setupFiles = isEveryday ? [] : ['test/leaks/watch-for-leaks.ts']
  return {
    test: {
      sequence: { sequencer: LongestFirst },
      globalSetup: [
        'test/helpers/servers/global-setup.ts',
        ...(isEveryday ? [] : ['test/leaks/leak-summary.ts']),
      ],
      projects: [
        createProject('unit', {
          setupFiles,
          include: ['test/**/*.test.ts'],
          exclude: [...INTEGRATION, ...EVIDENCE],
        }),
        createProject('integration', {
          setupFiles,
          include: isEveryday ? SMOKE : INTEGRATION,
          testTimeout: isEveryday ? 30_000 : 120_000,
          exclude: EVIDENCE,
        }),
        // The tests of Nest's own interfaces once more, on the version before.
        createProject('nest 11', { setupFiles, include: isEveryday ? [] : [NEST], exclude: [NEST_12_ONLY] }, [
          ...source,
          ...nest11,
        ]),
        // In processes of their own: these tests count descriptors, measure memory and kill servers.
        createProject('evidence', {
          setupFiles,
          include: isEveryday ? [] : EVIDENCE,
          pool: 'forks',
          isolate: true,
          testTimeout: 120_000,
        }),
      ],
    },
  }
})
