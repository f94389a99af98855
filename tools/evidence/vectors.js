// Holds every published vector against this library, and prints what came of it: exit 1 if a case is unexplained.
// node tools/evidence/vectors.js
import { join } from 'node:path'
import { importTypeScript } from '../shared/import-typescript.js'
import { root } from '../shared/root.js'

const { runVectors } = await importTypeScript('test/vectors/run-vectors.ts')
if (runVectors(join(root, '../shared/vectors')) > 0) process.exitCode = 1
