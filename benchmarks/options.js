/** The parts of a run, in their order. */
export const PARTS = /** @type {const} */ (['process', 'request', 'http', 'growth'])

const USAGE = `npm run bench [-- --quick] [-- --only ${PARTS.join('|')}]`

/**
 * @typedef {object} Options
 * @property {boolean} quick Fewer rounds and fewer peers, in under a minute.
 * @property {(typeof PARTS)[number][]} parts
 */

/**
 * The options of a command line, or an error that shows how it is used.
 *
 * @param {readonly string[]} words
 * @returns {Options}
 */
export function parseOptions(words) {
  let quick = false
  /** @type {Options['parts']} */
  const only = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]
    if (word === '--quick') quick = true
    else if (word === '--only') only.push(parsePart(words[++at]))
    else throw new TypeError(`Unknown option: ${word}\n${USAGE}`)
  }
  return { quick, parts: only.length === 0 ? [...PARTS] : PARTS.filter((part) => only.includes(part)) }
}

function parsePart(word) {
  const part = PARTS.find((name) => name === word)
  if (part === undefined) throw new TypeError(`There is no part ${word ?? 'without a name'}\n${USAGE}`)
  return part
}
