import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { extractDocs } from '../docs/extract-docs.js'
import { install, packAll, readManifest, toDependencies } from '../packages/pack.js'
import { root } from '../shared/root.js'
import { run } from '../shared/processes.js'
import { OUTPUT } from './commands.js'

/** Packs the built packages into `build/release`, where the other steps find them. */
export async function packTarballs() {
  mkdirSync(OUTPUT, { recursive: true })
  return packAll(OUTPUT)
}

/**
 * The tarballs in a clean folder, with the framework of the README next to it: the code of the README type-checks and
 * runs, with its assertions.
 */
export async function checkTarballs() {
  const packages = await packTarballs()
  const { devDependencies } = readManifest()
  // Outside of the repository, so that nothing is found in its node_modules.
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-release-'))
  try {
    extractDocs()
    await install(folder, {
      dependencies: { ...toDependencies(packages), hono: devDependencies.hono },
      devDependencies: {
        typescript: devDependencies.typescript,
        '@types/node': devDependencies['@types/node'],
      },
    })
    const compilerOptions = { strict: true, module: 'NodeNext', target: 'ES2023', types: ['node'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    cpSync(join(root, 'build/docs/README.ts'), join(folder, 'readme.ts'))
    await run('npx', ['--no', 'tsc'], folder)
    await run(process.execPath, ['readme.js'], folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const sizes = packages.map(({ manifest, size }) => `${manifest.name} ${size}`)
  return `bytes: ${sizes.join(', ')}; the code of the README runs`
}
