import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCookbook } from './cookbook.js'
import type { CorpusResult } from './corpus.js'
import { runPrimitives } from './primitives.js'
import { runWeakSecrets } from './weak-secrets.js'
import { runWebCrypto } from './web-crypto.js'
import { runWebKeys } from './web-keys.js'
import { runWebSignatures } from './web-signatures.js'

/** Every corpus that is run, by what runs it; `folder` is where the published vectors are. */
export const CORPORA: Readonly<Record<string, (folder: string) => readonly CorpusResult[]>> = {
  'web signatures': (folder) => [runWebSignatures(folder)],
  'web keys': (folder) => [runWebKeys(folder)],
  'web crypto': (folder) => [runWebCrypto(folder)],
  primitives: runPrimitives,
  cookbook: (folder) => [runCookbook(folder)],
  'weak secrets': (folder) => [runWeakSecrets(folder)],
}

/** Vectors for what this library does not do. */
export interface CorpusNotRun {
  readonly name: string
  readonly cases: number
  readonly reason: string
}

/** The corpora that are there and not run. */
export function readNotRun(folder: string): CorpusNotRun[] {
  const { vectors } = JSON.parse(
    readFileSync(join(folder, 'token-status-list/status_list_vectors.json'), 'utf8'),
  ) as { vectors: readonly { readonly statuses: readonly unknown[] }[] }
  const cases = vectors.reduce((sum, { statuses }) => sum + statuses.length, 0)
  return [{ name: 'token status list', cases, reason: 'status lists are not offered' }]
}

/** Why the vectors cannot be run, in one line, or `null` when they can. */
export function readAbsence(folder: string): string | null {
  return existsSync(join(folder, 'README.md'))
    ? null
    : 'The published vectors are not there (../shared/vectors, next to the project): nothing was run.'
}
