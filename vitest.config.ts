import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string): string => fileURLToPath(new URL(`./src/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^tokenlib$/, replacement: source('index.ts') },
      { find: /^tokenlib\/testing$/, replacement: source('testing/index.ts') },
      { find: /^tokenlib\/nest$/, replacement: source('adapters/nest/index.ts') },
      { find: /^tokenlib\/(\w+)$/, replacement: source('adapters/$1.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
  },
})
