import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** The program of the child processes, in plain JavaScript. */
export interface WorkerProgram {
  readonly path: string
  readonly remove: () => void
}

/** The program of the processes that have a replica. */
export const REPLICA_PROCESS = 'test/faults/replica/process.ts'

/** Bundles a program of child processes. */
export async function bundleWorker(entry = 'test/faults/harness/worker.ts'): Promise<WorkerProgram> {
  const root = findRoot(fileURLToPath(import.meta.url))
  mkdirSync(join(root, 'build'), { recursive: true })
  // Inside of the repository, so that the packages it imports are found.
  const folder = mkdtempSync(join(root, 'build', 'faults-'))
  const remove = (): void => {
    process.off('exit', remove)
    rmSync(folder, { recursive: true, force: true })
  }
  process.on('exit', remove)
  const path = join(folder, 'worker.mjs')
  await build({
    entryPoints: [join(root, entry)],
    outfile: path,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
  return { path, remove }
}

// Not relative to this file: `node tools/evidence/faults.js` runs a bundle of it, from another folder.
function findRoot(path: string): string {
  const folder = dirname(path)
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(folder)
}
