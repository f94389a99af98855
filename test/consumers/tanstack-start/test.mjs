import { mustRun, withServer } from './shared/server.mjs'
import { checkSessions } from './shared/sessions.mjs'

// The build writes the types of the routes.
await mustRun('npx', ['vite', 'build'])
await mustRun('npx', ['tsc', '--noEmit'])
await withServer(['node', '.output/server/index.mjs'], checkSessions)
