import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { listSubpaths } from '../packages/entries.js'
import { listExportedNames } from '../gates/exported-names.js'
import { findPackage } from '../packages/packages.js'
import { root } from '../shared/root.js'

/** The public members of a manager, the names that the root exports, and the number of subpaths. */
export async function measureSurface() {
  // Not at the top: this module is loaded before the packages are built.
  const tokenlib = await import('tokenlib')
  const { TokenConfig, TokenManager } = tokenlib
  const tokens = new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: randomBytes(32) }) })
  const own = Object.getOwnPropertyNames(tokens)
  const shared = Object.getOwnPropertyNames(TokenManager.prototype).filter((name) => name !== 'constructor')
  await tokens.close()

  const { folder, manifest } = findPackage('tokenlib')
  return {
    members: [...new Set([...own, ...shared])].toSorted(),
    names: listExportedNames(join(root, folder, manifest.types)).size,
    values: Object.keys(tokenlib).length,
    subpaths: listSubpaths(manifest).length,
  }
}
