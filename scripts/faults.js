// Hurts real servers and processes, and holds what comes of it against the promises: exit 1 if one is broken.
// npm run faults [-- --only <scenario>] [-- --quick]
// npm run faults -- --only replica [--seeds 10] [--first-seed 1] [--seconds 20] [--store redis|postgres] [--storm 5000]
import { importTypeScript } from './import-typescript.js'

const { runFaults } = await importTypeScript('test/faults/run-faults.ts')
// Not by `exitCode`: Node 20 never ends its clean-up after some connections were reset while they were being made.
process.exit((await runFaults(process.argv.slice(2))) > 0 ? 1 : 0)
