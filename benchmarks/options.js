/** The parts of a run, in their order. */
export const PARTS = /** @type {const} */ (['process', 'http', 'growth'])

const USAGE = `npm run bench -- [--quick] [--only ${PARTS.join('|')}] [--rows <start of a title>] [--rounds <number>]`

/**
 * @typedef {object} Options
 * @property {boolean} quick Fewer rounds, and only the contestants of targets.
 * @property {(typeof PARTS)[number][]} parts
 * @property {string[]} rows How the titles of the wanted groups start, in lower case; empty for all groups.
 * @property {number | null} rounds Null for as many as the part takes by default.
 * @property {boolean} isWhole Whether everything is measured, as the published figures are.
 */

/**
 * The options of a command line, or an error that shows how it is used.
 *
 * @param {readonly string[]} words
 * @returns {Options}
 */
export function parseOptions(words) {
  const only = []
  const rows = []
  let [quick, rounds] = [false, null]
  for (let at = 0; at < words.length; at++) {
    const word = words[at]
    if (word === '--quick') quick = true
    else if (word === '--only') only.push(parsePart(words[++at]))
    else if (word === '--rows') rows.push(parseTitle(words[++at]))
    else if (word === '--rounds') rounds = parseRounds(words[++at])
    else throw new TypeError(`Unknown option "${word}"\n${USAGE}`)
  }
  // No target is in the growth part.
  const isDefault = (part) => only.length === 0 && !(quick && part === 'growth')
  const parts = PARTS.filter((part) => isDefault(part) || only.includes(part))
  const isWhole = !quick && rounds === null && rows.length === 0 && parts.length === PARTS.length
  return { quick, parts, rows, rounds, isWhole }
}

function parsePart(word) {
  if (!PARTS.includes(word)) throw new TypeError(`--only must be one of ${PARTS.join(', ')}\n${USAGE}`)
  return word
}

function parseTitle(word) {
  if (!word) throw new TypeError(`--rows needs the start of a title, such as "fastify"\n${USAGE}`)
  return word.toLowerCase()
}

function parseRounds(word) {
  if (!/^[1-9]\d?$/.test(word ?? '')) throw new TypeError(`--rounds must be from 1 to 99\n${USAGE}`)
  return Number(word)
}
