import { checkForms } from './shared/forms.mjs'
import { mustRun, withServer } from './shared/server.mjs'

await mustRun('npx', ['svelte-kit', 'sync'])
await mustRun('npx', ['svelte-check', '--fail-on-warnings'])
await mustRun('npx', ['vite', 'build'])
// The server expects a reverse proxy with TLS in front of it: its pages have an origin with https:.
await withServer(['node', 'build'], (server) => checkForms(server, server.replace('http:', 'https:')))
