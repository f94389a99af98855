import { afterAll, beforeAll } from 'vitest'
import { bundleWorker, type WorkerProgram } from './bundle-worker.js'

/** Bundles the program of the child processes for the tests of a file; returns where to find it. */
export function useWorkerProgram(entry?: string): () => string {
  let program: WorkerProgram | undefined
  beforeAll(async () => void (program = await bundleWorker(entry)), 60_000)
  afterAll(() => program?.remove())
  return () => program?.path ?? ''
}
