import { readFileSync } from 'node:fs'

/**
 * The survivors that somebody has looked at, each with its reason.
 *
 * They are known by their texts and not by line numbers, which move.
 */
export function readSurvivors(file) {
  const { reasons, survivors } = JSON.parse(readFileSync(file, 'utf8'))
  return Object.entries(survivors).flatMap(([path, entries]) =>
    entries.map((entry) => {
      const reason = reasons[entry.reason] ?? entry.reason
      if (typeof reason !== 'string' || reason.trim() === '')
        throw new Error(`${path}: a survivor without reason`)
      return { ...entry, file: path, reason, matches: (mutant) => isSame({ ...entry, file: path }, mutant) }
    }),
  )
}

/** Why a mutant survives, or `undefined`. */
export function findReason(explained, mutant) {
  return explained.find(({ matches }) => matches(mutant))?.reason
}

function isSame(entry, mutant) {
  return ['file', 'line', 'mutator', 'original', 'replacement'].every((name) => entry[name] === mutant[name])
}
