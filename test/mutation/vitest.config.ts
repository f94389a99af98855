import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { warmPool } from './warm-pool.js'

// What Stryker runs for the mutants of one folder of the core, nearest first: tests that stay inside of one process and
// take milliseconds.
const TESTS: Readonly<Record<string, readonly string[]>> = {
  tokens: [
    'jws/refusals',
    'jws/token-kind',
    'jws/verify',
    'jws/roca',
    'jws/weak-secret',
    'jws/rotation',
    'jws',
    'claims',
    'manager/dependencies',
    'sessions',
  ],
  http: ['request', 'http', 'manager/dependencies'],
  issuers: [
    'issuers',
    'security/85',
    'security/86',
    'security/19',
    'security/20-unknown-kid-flood',
    'unknown-options',
  ],
  revocation: [
    'revocation',
    'sessions',
    'issuers/foreign-revocation',
    'stores/memory',
    'manager/revoke',
    'manager/config-texts',
    'unknown-options',
  ],
  config: ['manager', 'unknown-options', 'http/cookie-config', 'request/csrf'],
  requests: ['manager', 'issuers/foreign', 'issuers/several', 'events', 'request/csrf', 'request/read-token'],
  sessions: ['sessions', 'manager', 'claims/create', 'claims/mistakes', 'http'],
}
// Too long to be run for every mutant.
const LEFT_OUT = ['test/**/*.{evidence,integration}.test.ts']

const folder = process.env['MUTATION_FOLDER'] ?? ''
const names = TESTS[folder] ?? Object.keys(TESTS)
const distance = ({ moduleId }: TestSpecification): number =>
  names.findIndex((name) => moduleId.includes(`/test/${name}`))

class NearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => distance(one) - distance(other))
  }
}

export default defineConfig({
  plugins: [
    {
      name: 'warm-pool',
      // Here, because Stryker asks for a pool of its own.
      configureVitest({ project }) {
        Object.assign(project.config, { pool: warmPool.name, poolRunner: warmPool })
      },
    },
  ],
  test: {
    include: names.flatMap((name) => [`test/${name}/**/*.test.ts`, `test/${name}*.test.ts`]),
    exclude: LEFT_OUT,
    setupFiles: ['test/mutation/skip-slow-tests.ts', 'test/mutation/remember-keys.ts'],
    // All files of a run share a thread: the first failure ends the run, and the sources are loaded once.
    isolate: false,
    maxWorkers: 1,
    sequence: { sequencer: NearestFirst },
    // What hangs in a mutant is noticed soon.
    testTimeout: 10_000,
  },
})
