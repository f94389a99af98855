import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const path = (relative: string): string => fileURLToPath(new URL(`./${relative}`, import.meta.url))

const source = [
  { find: /^tokenlib$/, replacement: path('src/index.ts') },
  { find: /^tokenlib\/(store-kit|adapter-kit)$/, replacement: path('src/$1.ts') },
  { find: /^tokenlib\/testing$/, replacement: path('src/testing/index.ts') },
  { find: /^tokenlib\/nest$/, replacement: path('src/adapters/nest/index.ts') },
  { find: /^tokenlib\/stores\/([\w-]+)$/, replacement: path('src/stores/$1.ts') },
  { find: /^tokenlib\/(\w+)$/, replacement: path('src/adapters/$1.ts') },
]
const nest11 = [{ find: /^@nestjs\/(.+)$/, replacement: path('test/nest-11/node_modules/@nestjs/$1') }]

export default defineConfig({
  test: {
    projects: [
      {
        resolve: { alias: source },
        test: {
          name: 'tokenlib',
          include: ['test/**/*.test.ts'],
          testTimeout: 30_000,
          setupFiles: 'test/leaks/watch-for-leaks.ts',
          globalSetup: ['test/helpers/servers/global-setup.ts', 'test/leaks/leak-summary.ts'],
        },
      },
      {
        // The Nest tests once more, on the version before.
        resolve: { alias: [...source, ...nest11] },
        test: {
          name: 'nest 11',
          include: ['test/adapters/nest*.test.ts'],
          testTimeout: 30_000,
          setupFiles: 'test/leaks/watch-for-leaks.ts',
        },
      },
    ],
  },
})
