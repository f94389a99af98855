import { checkApi } from './shared/api.mjs'
import { mustRun, withServer } from './shared/server.mjs'

await mustRun('npx', ['tsc', '-p', 'tsconfig.json'])
await mustRun('npx', ['nitro', 'build'])
await withServer(['node', '.output/server/index.mjs'], (origin) =>
  checkApi((path, init) => fetch(`${origin}${path}`, init)),
)
