import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Plugin } from 'esbuild'
import { bundleWorker } from '../harness/bundle-worker.js'
import type { BrokenReplica, SourceChange } from './broken-replicas.js'
import { checkHistory, type Violation } from './check-history.js'
import type { History } from './history.js'

/** A violation, and the step of the scripted run that showed it. */
export interface StepViolation extends Violation {
  readonly step: string
}

/** Runs the script with the replica as it is, or with a broken one, and checks the histories. */
export async function runBroken({ changes = [], mistakes = {} }: Partial<BrokenReplica> = {}): Promise<
  StepViolation[]
> {
  const program = await bundleWorker('test/faults/replica/scripted-run.ts', [createPlugin(changes)])
  const folder = mkdtempSync(join(tmpdir(), 'tokenlib-broken-'))
  try {
    const file = join(folder, 'histories.json')
    await promisify(execFile)(process.execPath, [program.path, JSON.stringify(mistakes), file])
    const histories = JSON.parse(readFileSync(file, 'utf8')) as Record<string, History>
    return Object.entries(histories).flatMap(([step, history]) =>
      checkHistory(history).map((violation) => ({ ...violation, step })),
    )
  } finally {
    program.remove()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Changes sources as they are bundled. */
export function createPlugin(changes: readonly SourceChange[]): Plugin {
  return {
    name: 'broken-replica',
    setup(build) {
      build.onLoad({ filter: /tokenlib\/src\/stores\/replica.*\.ts$/ }, ({ path }) => ({
        contents: changes
          .filter(({ file }) => path.endsWith(`tokenlib/src/stores/${file}`))
          .reduce(applyChange, readFileSync(path, 'utf8')),
        loader: 'ts',
      }))
    },
  }
}

function applyChange(source: string, { file, from, to }: SourceChange): string {
  if (source.split(from).length !== 2) {
    throw new Error(
      `packages/tokenlib/src/stores/${file} must have this exactly once, for a broken replica: ${from}`,
    )
  }
  return source.replace(from, () => to)
}
