import { mustRun, withServer } from './shared/server.mjs'
import { checkSessions } from './shared/sessions.mjs'

await mustRun('npx', ['astro', 'check'])
await mustRun('npx', ['astro', 'build'])
await withServer(['node', 'dist/server/entry.mjs'], checkSessions)
