import { describeSetting } from './describe-setting.js'
import { toTable } from './targets.js'

const [START, END] = ['<!-- speed: written by npm run bench -->', '<!-- /speed -->']

/**
 * What the README says of a run.
 *
 * @param {import('./results.js').Results} results
 */
export function toSpeedSection(results) {
  const missed = results.ratios.filter(({ holds }) => !holds).length
  const verdict = missed === 0 ? 'All of them hold.' : `${missed} of ${results.ratios.length} do not hold.`
  return [
    START,
    '',
    `Measured on ${describeSetting(results)}.`,
    '',
    `These are the ratios that are aimed at; only ratios within one run count. ${verdict}`,
    '',
    toTable(results.ratios),
    '',
    END,
  ].join('\n')
}

/**
 * A README with the section of this run in the place of the one before.
 *
 * @param {string} readme
 * @param {import('./results.js').Results} results
 */
export function replaceSpeed(readme, results) {
  const [start, end] = [readme.indexOf(START), readme.indexOf(END)]
  if (start === -1 || end < start) throw new Error('The README has no place for the figures')
  return readme.slice(0, start) + toSpeedSection(results) + readme.slice(end + END.length)
}
