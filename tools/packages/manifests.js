// Writes where the entries of every package are into its package.json, from the table of public names, which is `paths` of
// tsconfig.json: node tools/packages/manifests.js
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENTRY_FIELDS, toEntryFields } from './entries.js'
import { listPackages } from './packages.js'
import { root } from '../shared/root.js'

for (const one of listPackages()) {
  const others = Object.entries(one.manifest).filter(([field]) => !ENTRY_FIELDS.includes(field))
  const at = others.findIndex(([field]) => field === 'sideEffects') + 1
  const fields = [...others.slice(0, at), ...Object.entries(toEntryFields(one)), ...others.slice(at)]
  writeFileSync(
    join(root, one.folder, 'package.json'),
    `${JSON.stringify(Object.fromEntries(fields), null, 2)}\n`,
  )
}
