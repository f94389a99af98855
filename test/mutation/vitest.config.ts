import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { warmPool } from './warm-pool.js'

// Stryker works on a copy of the project. It cannot copy tsconfig.json, because it rewrites the copy with an interface
// that TypeScript 7 does not have.
const [root = ''] = process.cwd().split('/build/mutation/')
const readJson = (file: string): unknown => JSON.parse(readFileSync(resolve(root, file), 'utf8'))

// Without these, the public names lead to the packages in node_modules, which have no mutants in them.
const { compilerOptions } = readJson('tsconfig.json') as {
  compilerOptions: { paths: Record<string, [string]> }
}
const alias = Object.entries(compilerOptions.paths)
  .filter(([name]) => /^@?tokenlib/.test(name))
  .map(([name, [file]]) => ({ find: new RegExp(`^${name}$`), replacement: resolve(file) }))

// The tests for the mutants of a folder: those near to it for all mutants, the others for those that survive.
const folders = readJson('test/mutation/folders.json') as Record<string, { near: string[]; far: string[] }>
const { near, far } = folders[process.env['MUTATION_FOLDER'] ?? ''] ?? { near: [], far: [] }
const names = process.env['MUTATION_TESTS'] === 'near' ? near : [...near, ...far]
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
  resolve: { alias },
  test: {
    include: names.flatMap((name) => [`test/${name}/**/*.test.ts`, `test/${name}*test.ts`]),
    exclude: ['test/**/*.{evidence,integration,long}.test.ts'],
    provide: { hasServers: false },
    setupFiles: ['test/mutation/limit-tests.ts', 'test/mutation/remember-keys.ts'],
    // All files of a run share a thread: the first failure ends the run, and the sources are loaded once.
    isolate: false,
    maxWorkers: 1,
    sequence: { sequencer: NearestFirst },
  },
})
