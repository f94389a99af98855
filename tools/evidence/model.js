// Checks the model of the replica and its variants with Spin: exit 1 if the model fails or a variant is not caught.
// node tools/evidence/model.js
// node tools/evidence/model.js --long
import { importTypeScript } from '../shared/import-typescript.js'
import { root } from '../shared/root.js'

const options = process.argv.slice(2)
const unknown = options.find((option) => option !== '--long')
if (unknown !== undefined) {
  console.error(`Unknown option ${unknown}. Usage: node tools/evidence/model.js [--long]`)
  process.exit(2)
}

const { checkModel } = await importTypeScript('test/model/check-model.ts')
const isSound = await checkModel(root, { isLong: options.includes('--long'), log: console.log })
process.exitCode = isSound ? 0 : 1
