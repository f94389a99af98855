import { writeFileSync } from 'node:fs'
import { runSteps } from './scripted-steps.js'

// A process of its own for each replica, so that one can be built from changed sources.
const [, , mistakes = '{}', file = ''] = process.argv
writeFileSync(file, JSON.stringify(await runSteps(JSON.parse(mistakes) as object)))
process.exit()
