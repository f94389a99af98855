import { replacePart, toTable } from '../shared/report.js'

const START = '<!-- Written by node tools/browsers. -->'

const [RULES_START, RULES_END] = ['<!-- rotation-browsers:start -->', '<!-- rotation-browsers:end -->']

const COLUMNS = [
  ['Sessions', ({ sessions }) => sessions],
  ['Tabs', ({ tabs }) => tabs],
  ['Requests', ({ requests }) => requests],
  ['Refused', ({ refused }) => refused],
  ['False logouts', ({ falseLogouts }) => falseLogouts],
  ['Not answered', ({ unavailable }) => unavailable],
  ['`offline`', ({ offline }) => offline],
  ['Expiries', ({ expiries }) => expiries],
  ['Refreshes per expiry', toRefreshes],
]

// What is compared for each rule: the scenario, and of how many sessions or thieves something is told.
const COMPARED = [
  ['Responses lost', 'lost-responses', toLoggedOut],
  ['Navigation aborted', 'aborted-navigation', toLoggedOut],
  ['Asleep for an hour', 'asleep', toLoggedOut],
  ['Thief served late', 'stolen-cookies', ({ thefts }) => [thefts.servedLate, thefts.thieves]],
  ['Thief caught', 'stolen-cookies', ({ thefts }) => [thefts.caught, thefts.thieves]],
]

function toLoggedOut({ figures }) {
  return [figures.endedSessions, figures.sessions]
}

function toRefreshes({ expiries, refreshes, mostRefreshes }) {
  return expiries === 0 ? '' : `${(refreshes / expiries).toFixed(1)}, at most ${mostRefreshes}`
}

/** A run in a few lines. */
export function describeRun({ browser, scenario, store, rule, figures, problems, notes = [] }) {
  const texts = COLUMNS.map(([title, read]) => `${title.replaceAll('`', '')} ${read(figures)}`)
  const reasons = Object.entries(figures.reasons).map(([reason, count]) => `${reason}: ${count}`)
  const lines = [
    `${browser} ${scenario} (${rule?.title ?? store}): ${problems.length === 0 ? 'holds' : 'BROKEN'}`,
    `  ${texts.join('; ')}`,
    ...[...reasons, ...notes].map((text) => `  ${text}`),
    ...problems.map((text) => `  broken: ${text}`),
  ]
  return lines.join('\n')
}

/** The page with the tables of a run. */
export function toPage(page, record) {
  return `${page.slice(0, page.indexOf(START))}${START}\n\n${toTables(record)}\n`
}

/** The page that compares rules of rotation, with the table of a run with these arguments. */
export function toRulesPage(page, record, given) {
  return replacePart(page, RULES_START, RULES_END, toRulesTable(record, given))
}

function toRulesTable({ date, versions, runs }, given) {
  const rules = [...new Set(runs.map(({ rule }) => rule.title))]
  const rows = rules.map((title) => {
    const own = runs.filter(({ rule }) => rule.title === title)
    const cells = COMPARED.map(([, scenario, read]) => toShare(own, scenario, read))
    return [own[0].isOurs ? `**${title}**` : title, ...cells]
  })
  const intro = `Written by \`node tools/browsers ${given}\` on ${date}, with ${toBrowsers(versions)}.`
  return `${intro}\n\n${toTable(['Rule', ...COMPARED.map(([title]) => title)], rows)}`
}

function toShare(runs, scenario, read) {
  const counts = runs.filter((run) => run.scenario === scenario).map(read)
  const [count, of] = [0, 1].map((at) => counts.reduce((total, one) => total + one[at], 0))
  return `${count} of ${of}`
}

function toBrowsers(versions) {
  return Object.entries(versions)
    .map(([name, version]) => `${toTitle(name)} ${version}`)
    .join(' and ')
}

function toTables({ date, versions, runs }) {
  const parts = [`The last recorded run was on ${date}, with ${toBrowsers(versions)}.`]
  for (const name of Object.keys(versions)) {
    const rows = runs
      .filter(({ browser }) => browser === name)
      .map(({ title, store, figures }) => [
        `${title}, ${store === 'redis' ? 'Redis' : 'SQLite'}`,
        ...COLUMNS.map(([, read]) => String(read(figures))),
      ])
    parts.push(`### ${toTitle(name)}`, toTable(['', ...COLUMNS.map(([title]) => title)], rows))
  }
  return parts.join('\n\n')
}

function toTitle(name) {
  return name === 'firefox' ? 'Firefox' : 'Chromium'
}
