import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TokenConfig, TokenManager } from '../../packages/tokenlib/src/index.js'
import { createKeyRing } from '../../packages/tokenlib/src/tokens/key-ring.js'
import { answerKeys, toOneAnswer } from './answers.js'
import { type CorpusResult, tallyCorpus } from './corpus.js'
import { NO_KEYS } from './key-sources.js'

const FILE = 'weak-secrets/jwt.secrets.list'

/**
 * The secrets that others have published, as signing secrets: none may be taken.
 *
 * The id of a case is the number of its line. HS256 asks for the fewest bytes, so what it refuses all refuse. All of
 * them take half a minute; `every` leaves out most of those that are too short anyway.
 */
export function runWeakSecrets(folder: string, { every = 1 } = {}): CorpusResult {
  const lines = readSecrets(folder).map((secret, index) => ({ secret, index }))
  const chosen = lines.filter(({ secret, index }) => !isShort(secret) || index % every === 0)
  const results = chosen.map(({ secret, index }) => ({
    id: String(index + 1),
    label: 'refused' as const,
    answer: toOneAnswer(
      isShort(secret)
        ? [answerKeys(() => createKeyRing({ ...NO_KEYS, JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret }))]
        : [
            // Long enough to be taken for a good one: those are asked of the whole library too.
            answerKeys(() => createKeyRing({ ...NO_KEYS, JWT_ALGORITHM: 'HS256', JWT_SECRET_KEY: secret })),
            answerKeys(() => new TokenManager({ config: new TokenConfig({ JWT_SECRET_KEY: secret }) })),
          ],
    ),
  }))
  return tallyCorpus('weak secrets', results, [])
}

/** The secrets, one a line. The lines end in CR LF, and the spaces around some secrets are part of them. */
export function readSecrets(folder: string): string[] {
  const lines = readFileSync(join(folder, FILE), 'utf8').split('\r\n')
  // What follows the last line end is no line.
  if (lines.pop() !== '') throw new Error(`${FILE} does not end with a line end`)
  return lines
}

const isShort = (secret: string): boolean => Buffer.byteLength(secret) < 32
