import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findPackage } from '../packages/packages.js'
import { root } from '../shared/root.js'
import { run } from '../shared/processes.js'
import { assertNone } from '../shared/report.js'
import { OUTPUT } from './commands.js'
import { packTarballs } from './tarball.js'

// What the build puts into the package itself.
const BUNDLED = ['cookie-es']

/**
 * Writes the software bill of materials (CycloneDX) of `tokenlib`, and checks that it lists the runtime dependencies and
 * nothing else; what is bundled is added. The other packages need `tokenlib`, and nothing else.
 *
 * It is made from the unpacked tarball. In the repository npm would name the root after its folder, stop at workspaces
 * without a version, and leave out what is a development dependency of another package too.
 */
export async function writeComponents({ version }) {
  const [{ tarball }] = await packTarballs()
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
    const bill = JSON.parse(text)
    assertComponents(bill, version)
    bill.components.push(...BUNDLED.map(readComponent))
    const names = bill.components.map((component) => `${component.name} ${component.version}`)
    const file = `tokenlib-${version}.cdx.json`
    writeFileSync(join(OUTPUT, file), `${JSON.stringify(bill, null, 2)}\n`)
    return `${file}: ${names.join(', ')}`
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

function assertComponents(bill, version) {
  const { name, version: described } = bill.metadata.component
  const found = bill.components.map((component) => component.name).toSorted()
  const expected = Object.keys(findPackage('tokenlib').manifest.dependencies).toSorted()
  assertNone([
    ...(bill.bomFormat === 'CycloneDX' ? [] : [`the format is ${bill.bomFormat}, not CycloneDX`]),
    ...(name === 'tokenlib' && described === version ? [] : [`it describes ${name} ${described}`]),
    ...expected.filter((one) => !found.includes(one)).map((one) => `${one} is missing`),
    ...found
      .filter((one) => !expected.includes(one))
      .map((one) => `${one} is not a dependency of package.json`),
  ])
}

function readComponent(name) {
  const file = join(root, 'node_modules', name, 'package.json')
  const { version, license } = JSON.parse(readFileSync(file, 'utf8'))
  const purl = `pkg:npm/${name}@${version}`
  return { 'bom-ref': purl, type: 'library', name, version, purl, licenses: [{ license: { id: license } }] }
}
