import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { warmPool } from './warm-pool.js'

// What Stryker runs for the mutants of one folder of src, nearest first: tests that stay inside of one process and
// take milliseconds.
const TESTS: Readonly<Record<string, readonly string[]>> = {
  claims: ['claims', 'manager/dependencies', 'sessions'],
  sessions: [
    'sessions',
    'revocation/store-guard',
    'manager/revoke',
    'manager/config-texts',
    'unknown-options',
  ],
  revocation: ['revocation', 'issuers/foreign-revocation', 'stores/memory', 'sessions', 'manager/revoke'],
  manager: [
    'manager',
    'issuers/foreign',
    'issuers/several',
    'unknown-options',
    'events',
    'sessions',
    'claims/create',
    'claims/mistakes',
    'http/cookie-config',
    'request/csrf',
    'request/read-token',
  ],
  request: ['request', 'manager/dependencies'],
  issuers: [
    'issuers',
    'security/85',
    'security/86',
    'security/19',
    'security/20-unknown-kid-flood',
    'unknown-options',
  ],
  jws: ['jws/refusals', 'jws/token-kind', 'jws/verify', 'jws/roca', 'jws/weak-secret', 'jws/rotation', 'jws'],
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
