// Compiles the example application against the built packages into build/examples, with the files of its pages.
// npm run build:examples builds the packages first.
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../shared/processes.js'
import { runTool } from '../shared/report.js'
import { root } from '../shared/root.js'

const target = join(root, 'build/examples')

await runTool(async () => {
  rmSync(target, { recursive: true, force: true })
  await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'examples'], root)
  for (const folder of ['page', 'nest-browser/public']) {
    cpSync(join(root, 'examples', folder), join(target, folder), { recursive: true })
  }
})
