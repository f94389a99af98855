// Hurts real servers and processes, and holds what comes of it against the promises: exit 1 if one is broken.
// node tools/evidence/faults.js [--only <scenario>] [--quick]
// node tools/evidence/faults.js --only replica [--seeds 10] [--first-seed 1] [--seconds 20] [--store redis|postgres|mysql] [--storm 5000]
import { importTypeScript } from '../shared/import-typescript.js'

const { runFaults } = await importTypeScript('test/faults/run-faults.ts')
// Not by `exitCode`: Node 20 never ends its clean-up after some connections were reset while they were being made.
process.exit((await runFaults(process.argv.slice(2))) > 0 ? 1 : 0)
