import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readManifest } from '../pack.js'
import { assertNone, run } from '../run.js'
import { OUTPUT } from './commands.js'
import { packTarball } from './tarball.js'

/**
 * Writes the software bill of materials (CycloneDX) of what is published, and checks that it lists the runtime
 * dependencies and nothing else.
 *
 * It is made from the unpacked tarball. In the repository npm would name the root after its folder, stop at workspaces
 * without a version, and leave out what is a development dependency of another package too.
 */
export async function writeComponents({ version }) {
  const { tarball } = await packTarball()
  const base = mkdtempSync(join(tmpdir(), 'tokenlib-components-'))
  try {
    const folder = join(base, 'tokenlib')
    mkdirSync(folder)
    await run('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'], base)
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    for (const field of ['devDependencies', 'overrides', 'workspaces', 'scripts']) delete manifest[field]
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    await run(
      'npm',
      ['install', '--omit=dev', '--omit=peer', '--no-audit', '--no-fund', '--prefer-offline'],
      folder,
    )
    const text = await run(
      'npm',
      ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--omit', 'peer'],
      folder,
    )
    const names = assertComponents(JSON.parse(text), version)
    const file = `tokenlib-${version}.cdx.json`
    writeFileSync(join(OUTPUT, file), text)
    return `${file}: ${names.join(', ')}`
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

function assertComponents(bill, version) {
  const { name, version: described } = bill.metadata.component
  const found = bill.components.map((component) => component.name).toSorted()
  const expected = Object.keys(readManifest().dependencies).toSorted()
  assertNone([
    ...(bill.bomFormat === 'CycloneDX' ? [] : [`the format is ${bill.bomFormat}, not CycloneDX`]),
    ...(name === 'tokenlib' && described === version ? [] : [`it describes ${name} ${described}`]),
    ...expected.filter((one) => !found.includes(one)).map((one) => `${one} is missing`),
    ...found
      .filter((one) => !expected.includes(one))
      .map((one) => `${one} is not a dependency of package.json`),
  ])
  return bill.components.map((component) => `${component.name} ${component.version}`)
}
