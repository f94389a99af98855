import { checkForms } from './shared/forms.mjs'
import { mustRun, withServer } from './shared/server.mjs'

await mustRun('npx', ['react-router', 'typegen'])
await mustRun('npx', ['tsc', '-p', 'tsconfig.json'])
await mustRun('npx', ['react-router', 'build'])
await withServer(['npx', 'react-router-serve', 'build/server/index.js'], (server) => checkForms(server), {
  NODE_ENV: 'production',
})
