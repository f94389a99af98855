const START = '<!-- Written by npm run test:browsers. -->'

const COLUMNS = [
  ['Tabs', ({ tabs }) => tabs],
  ['Requests', ({ requests }) => requests],
  ['Refused', ({ refused }) => refused],
  ['False log-outs', ({ falseLogOuts }) => falseLogOuts],
  ['Not answered', ({ unavailable }) => unavailable],
  ['`offline`', ({ offline }) => offline],
  ['Expiries', ({ expiries }) => expiries],
  ['Refreshes per expiry', toRefreshes],
]

function toRefreshes({ expiries, refreshes, mostRefreshes }) {
  return expiries === 0 ? '' : `${(refreshes / expiries).toFixed(1)}, at most ${mostRefreshes}`
}

/** A run in a few lines. */
export function describeRun({ browser, scenario, store, figures, problems, notes = [] }) {
  const texts = COLUMNS.map(([title, read]) => `${title.replaceAll('`', '')} ${read(figures)}`)
  const reasons = Object.entries(figures.reasons).map(([reason, count]) => `${reason}: ${count}`)
  const lines = [
    `${browser} ${scenario} (${store}): ${problems.length === 0 ? 'holds' : 'BROKEN'}`,
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

function toTables({ date, versions, runs }) {
  const browsers = Object.entries(versions).map(([name, version]) => `${toTitle(name)} ${version}`)
  const parts = [`The last recorded run was on ${date}, with ${browsers.join(' and ')}.`]
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

/** A table in Markdown, aligned as oxfmt does it. */
export function toTable(head, rows) {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(3, ...all.map((row) => row[at].length)))
  const toLine = (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`
  return [
    toLine(head),
    `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`,
    ...rows.map(toLine),
  ].join('\n')
}
