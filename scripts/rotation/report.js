import { toSvg } from '../../benchmarks/chart.js'
import { toTable } from '../browsers/report.js'

/**
 * @typedef {import('../../test/rotation-compared/compare.js').Comparison} Comparison
 * @typedef {import('../../test/rotation-compared/compare.js').RuleFigures} RuleFigures
 * @typedef {import('../../test/rotation-compared/simulate.js').Setting} Setting
 */

const [START, END] = ['<!-- rotation-simulation:start -->', '<!-- rotation-simulation:end -->']

const KINDS = /** @type {const} */ (['patient', 'eager', 'follower'])

/** @type {[title: string, read: (figures: RuleFigures) => string][]} */
const COLUMNS = [
  ['Rule', ({ title, name }) => (name === 'successorUsed' ? `**${title}**` : title)],
  ['Logged out, 8 tabs', ({ honest }) => toHonest(honest.manyTabs)],
  ['1 tab', ({ honest }) => toHonest(honest.oneTab)],
  ['Patient thief caught', ({ calmThieves }) => toTheft(calmThieves.patient)],
  ['Eager thief', ({ calmThieves }) => toTheft(calmThieves.eager)],
  ['Follower', ({ calmThieves }) => toTheft(calmThieves.follower)],
  ['Most rotations', toMostRotations],
  ['Stored per session', ({ stores }) => stores],
]

/**
 * A rule in one setting, in a few lines.
 *
 * @param {RuleFigures} figures
 * @param {Setting} setting
 */
export function describeRule(figures, setting) {
  const { title, honest, calmThieves, roughThieves } = figures
  const user = (tabs, part) => {
    const first = part.firstSeed === null ? '' : `, the first of them with seed ${part.firstSeed}`
    return `  ${tabs}: ${toHonest(part)} of ${part.sessions} logged out${first}`
  }
  const thief = (world, kind, part) =>
    `  ${kind} thief, ${world}: ${toTheft(part)} of ${part.sessions} caught, rotations ${part.mostRotations}`
  return [
    `${title}; ${describeSetting(setting)}`,
    user('8 tabs', honest.manyTabs),
    user('1 tab', honest.oneTab),
    ...KINDS.map((kind) => thief('calm', kind, calmThieves[kind])),
    ...KINDS.map((kind) => thief('rough', kind, roughThieves[kind])),
  ].join('\n')
}

/**
 * The page with the figures of a run in the place of those before.
 *
 * @param {string} page
 * @param {Comparison} comparison
 */
export function toPage(page, comparison) {
  const [start, end] = [page.indexOf(START), page.indexOf(END)]
  if (start === -1 || end < start) throw new Error(`The page needs the lines ${START} and ${END}`)
  return `${page.slice(0, start)}${START}\n\n${toFigures(comparison)}\n\n${page.slice(end)}`
}

/**
 * The picture of a run: what goes wrong with the first setting, for users and against thieves.
 *
 * @param {Comparison} comparison
 */
export function toChart({ firstSeed, seeds, settings: [setting] }) {
  return toSvg({
    title: 'Users logged out by mistake, and thieves who are never caught',
    subtitle: `${seeds} sessions for each bar. The follower refreshes right after the victim. Shorter is better.`,
    caption: `${describeSetting(setting)} · seeds ${firstSeed} to ${firstSeed + seeds - 1} · npm run rotation:compare`,
    groups: setting.rules.map(({ name, title, honest, calmThieves }) => {
      const kind = name === 'successorUsed' ? 'ours' : 'peer'
      const toBar = (label, count, of) => {
        const share = of === 0 ? 0 : count / of
        return { label, kind, share, note: `${Number((share * 100).toFixed(1))} %` }
      }
      const { manyTabs } = honest
      const { caught, sessions } = calmThieves.follower
      return {
        title,
        note: '',
        bars: [
          toBar('users logged out, 8 tabs', manyTabs.loggedOut, manyTabs.sessions),
          toBar('followers never caught', sessions - caught, sessions),
        ],
      }
    }),
  })
}

function toFigures({ firstSeed, seeds, settings }) {
  const parts = [
    `Written by \`npm run rotation:compare\`: ${seeds} sessions for each figure, seeds ${firstSeed} to ${firstSeed + seeds - 1}.`,
  ]
  for (const setting of settings) {
    // What is stored does not depend on the setting.
    const columns = setting === settings[0] ? COLUMNS : COLUMNS.slice(0, -1)
    const rows = setting.rules.map((figures) => columns.map(([, read]) => read(figures)))
    parts.push(
      `### ${describeSetting(setting)}`,
      toTable(
        columns.map(([title]) => title),
        rows,
      ),
    )
    parts.push(describeRough(setting.rules.at(-1)))
  }
  return parts.join('\n\n')
}

function describeRough({ roughThieves }) {
  const caught = KINDS.map((kind) => `${roughThieves[kind].caught} of ${roughThieves[kind].sessions}`)
  const all = KINDS.map((kind) => roughThieves[kind])
  const rotations = Math.max(...all.map(({ mostRotations }) => mostRotations))
  const longest = Math.max(...all.map(({ longestAccessMs }) => longestAccessMs))
  return `The last row again, but with the 8 tabs, losses and sleeps of the first column: ${caught.join(', ')} thieves caught, most rotations ${rotations}, longest access ${toMinutes(longest)} min.`
}

function describeSetting({ graceMs, accessMs }) {
  return `Access tokens of ${accessMs / 60_000} min, grace of ${graceMs / 1000} s`
}

function toHonest({ loggedOut, refreshes }) {
  return `${loggedOut} (${refreshes.toLocaleString('en-US')})`
}

function toTheft({ caught, medianAccessMs, longestAccessMs }) {
  return `${caught} (${toMinutes(medianAccessMs)}, ${toMinutes(longestAccessMs)})`
}

function toMostRotations({ name, calmThieves }) {
  return name === 'none' ? '–' : String(Math.max(...KINDS.map((kind) => calmThieves[kind].mostRotations)))
}

function toMinutes(milliseconds) {
  const minutes = milliseconds / 60_000
  return minutes < 10 ? minutes.toFixed(1) : String(Math.round(minutes))
}
