// Holds every published vector against this library, and prints what came of it: exit 1 if a case is unexplained.
// node tools/evidence/vectors.js
import { join } from 'node:path'
import { importTypeScript, ROOT } from '../shared/import-typescript.js'

const { runVectors } = await importTypeScript('test/vectors/run-vectors.ts')
if (runVectors(join(ROOT, '../shared/vectors')) > 0) process.exitCode = 1
