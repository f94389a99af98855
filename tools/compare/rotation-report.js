import { toSvg } from '../../benchmarks/chart.js'
import { replacePart, toTable } from '../shared/report.js'

/**
 * @typedef {import('../../test/rotation-compared/compare.js').Comparison} Comparison
 * @typedef {import('../../test/rotation-compared/compare.js').RuleFigures} RuleFigures
 * @typedef {import('../../test/rotation-compared/simulate.js').Setting} Setting
 */

const [START, END] = ['<!-- rotation-simulation:start -->', '<!-- rotation-simulation:end -->']

const KINDS = /** @type {const} */ (['patient', 'eager', 'follower'])

// Whose rule it is, where it is ours.
const OWN = { sameGeneration: 'tokenlib 0.2.0', successorUsed: 'tokenlib' }

/**
 * A rule in one setting, in a few lines.
 *
 * @param {RuleFigures} figures
 * @param {Setting} setting
 */
export function describeRule(figures, setting) {
  const { name, title, honest, calmThieves, roughThieves } = figures
  const user = (tabs, part) => {
    const first = part.firstSeed === null ? '' : `, the first of them with seed ${part.firstSeed}`
    return `  ${tabs}: ${toHonest(part)} of ${part.sessions} logged out${first}`
  }
  const thief = (world, kind, part) =>
    `  ${kind} thief, ${world}: ${toTheft(part)} of ${part.sessions} caught, rotations ${part.mostRotations}`
  return [
    `${toOwnTitle(name, title)}, access tokens of ${describeSetting(setting)}`,
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
  return replacePart(page, START, END, toFigures(comparison))
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
    caption: `Access tokens of ${describeSetting(setting)} · seeds ${firstSeed} to ${firstSeed + seeds - 1} · node tools/compare/rotation.js`,
    groups: setting.rules.map(({ name, title, honest, calmThieves }) => {
      const kind = name === 'successorUsed' ? 'ours' : 'peer'
      const toBar = (label, count, of) => {
        const share = of === 0 ? 0 : count / of
        return { label, kind, share, note: `${Number((share * 100).toFixed(1))} %` }
      }
      const { manyTabs } = honest
      const { caught, sessions } = calmThieves.follower
      return {
        title: toOwnTitle(name, title),
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
  const described = settings.map(describeSetting).join(', or ')
  return [
    `Written by \`node tools/compare/rotation.js\`: ${seeds} sessions for each figure, seeds ${firstSeed} to ${firstSeed + seeds - 1}. Access tokens live for ${described}.`,
    '### Honest users logged out',
    toUsers(settings),
    ...settings.flatMap((setting) => [
      `### Thieves caught, access tokens of ${toLifetime(setting)}`,
      toThieves(setting),
      describeRough(setting.rules.at(-1)),
    ]),
  ].join('\n\n')
}

function toUsers(settings) {
  const columns = settings.flatMap((setting, at) =>
    [
      ['8 tabs', 'manyTabs'],
      ['1 tab', 'oneTab'],
    ].map(([tabs, part]) => ({
      title: `${toLifetime(setting)}, ${tabs}`,
      read: (row) => toHonest(settings[at].rules[row].honest[part]),
    })),
  )
  const rows = settings[0].rules.map((rule, row) => [
    toRowTitle(rule),
    ...columns.map(({ read }) => read(row)),
    rule.stores,
  ])
  return toTable(['Rule', ...columns.map(({ title }) => title), 'Stored per session'], rows)
}

function toThieves({ rules }) {
  const rows = rules.map((rule) => {
    const figures = KINDS.map((kind) => rule.calmThieves[kind])
    const rotations = Math.max(...figures.map(({ mostRotations }) => mostRotations))
    return [toRowTitle(rule), ...figures.map(toTheft), rule.name === 'none' ? '–' : String(rotations)]
  })
  return toTable(['Rule', 'Patient thief', 'Eager thief', 'Follower', 'Most rotations'], rows)
}

function describeRough({ roughThieves }) {
  const all = KINDS.map((kind) => roughThieves[kind])
  const caught = all.map(({ caught, sessions }) => `${caught} of ${sessions}`)
  const rotations = Math.max(...all.map(({ mostRotations }) => mostRotations))
  const longest = Math.max(...all.map(({ longestAccessMs }) => longestAccessMs))
  return `The last row with the 8 tabs and the bad network of the honest users: ${caught.join(', ')} caught, most rotations ${rotations}, longest access ${toMinutes(longest)} minutes.`
}

function toOwnTitle(name, title) {
  return name in OWN ? `${title} (${OWN[name]})` : title
}

function toRowTitle({ name, title }) {
  return name === 'successorUsed' ? `**${title}**` : title
}

function describeSetting(setting) {
  return `${toLifetime(setting)} with a grace of ${setting.graceMs / 1000} s`
}

function toLifetime({ accessMs }) {
  return `${accessMs / 60_000} min`
}

function toHonest({ loggedOut, refreshes }) {
  return `${loggedOut} (${refreshes.toLocaleString('en-US')})`
}

function toTheft({ caught, medianAccessMs, longestAccessMs }) {
  return `${caught} (${toMinutes(medianAccessMs)}, ${toMinutes(longestAccessMs)})`
}

function toMinutes(milliseconds) {
  const minutes = milliseconds / 60_000
  return minutes < 10 ? minutes.toFixed(1) : String(Math.round(minutes))
}
