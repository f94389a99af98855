import { toRatio } from './figures.js'

/**
 * @typedef {object} Bar
 * @property {string} label
 * @property {'ours' | 'peer'} kind
 * @property {number} share Of what the bare route serves, 0 to 1.
 * @property {string} note Beside the bar.
 */

/**
 * @typedef {object} Chart
 * @property {string} title
 * @property {string} subtitle
 * @property {string} caption
 * @property {{ title: string, note: string, bars: Bar[] }[]} groups
 */

const [WIDTH, LEFT, BARS, LONGEST] = [840, 20, 282, 420]
const [TOP, ROW, BAR, GAP] = [104, 23, 15, 28]

const SHOWN = ['Fastify', 'Express', 'Koa', 'Hono', 'Nest on Express']
const OURS = {
  tokenlib: 'tokenlib',
  'tokenlib, a million revoked in memory': 'tokenlib, 1 million revoked in memory',
}

// An image cannot be styled by the page that shows it, so it asks for the colour scheme itself.
const STYLE = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 18px; font-weight: 600 }
  .group, .ours-note { font-weight: 600 }
  .subtitle, .caption, .bare, .peer-note { fill: #59636e }
  .caption, .bare { font-size: 11.5px }
  .bare { text-anchor: end }
  .track { fill: #eaeef2 }
  .ours { fill: #0969da }
  .peer { fill: #bc7c2e }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .subtitle, .caption, .bare, .peer-note { fill: #9198a1 }
    .track { fill: #2a313a }
    .ours { fill: #4493f8 }
    .peer { fill: #c98b42 }
  }`

/**
 * The chart of a run: what a guarded route in each framework keeps of what the bare route serves.
 *
 * @param {readonly import('./figures.js').Group[]} groups
 * @param {string} caption
 * @returns {Chart}
 */
export function toChart(groups, caption) {
  return {
    title: 'What a guarded route keeps of the speed of a bare one',
    subtitle:
      'Requests per second of CPU time. The full width is the same route without a guard. Longer is better.',
    caption,
    groups: SHOWN.flatMap((title) => {
      const figures = groups.find(({ id }) => id === `http ${title}`)?.figures ?? []
      const bare = figures.find(({ name }) => name === 'bare')
      if (bare === undefined) return []
      return [
        { title, note: `bare: ${toCost(bare)}`, bars: figures.flatMap((figure) => toBars(figure, bare)) },
      ]
    }),
  }
}

function toBars(figure, bare) {
  const isPeer = figure.name.endsWith('Redis GET')
  const label = isPeer ? figure.name.replace(', ', ' with one ') : OURS[figure.name]
  if (label === undefined) return []
  const ratio = toRatio(figure.samples, bare.samples).median
  const note = `${Math.round(ratio * 100)} %  (${toCost(figure)})`
  // A guarded route cannot be faster than the bare one: its number shows the measuring error, its bar ends at the line.
  return [{ label, kind: isPeer ? 'peer' : 'ours', share: Math.min(1, ratio), note }]
}

function toCost({ cost }) {
  return `${cost.toFixed(cost < 100 ? 1 : 0)} µs`
}

/**
 * Groups of horizontal bars as an SVG document.
 *
 * @param {Chart} chart
 */
export function toSvg({ title, subtitle, caption, groups }) {
  let y = TOP
  const body = []
  for (const group of groups) {
    body.push(text('group', LEFT, y, group.title), text('bare', BARS + LONGEST, y, group.note))
    y += 9
    for (const { label, kind, share, note } of group.bars) {
      const middle = y + BAR - 3
      body.push(text('label', LEFT, middle, label))
      body.push(rectangle('track', y, LONGEST), rectangle(kind, y, Math.max(1, Math.round(share * LONGEST))))
      body.push(text(`${kind}-note`, BARS + LONGEST + 10, middle, note))
      y += ROW
    }
    y += GAP
  }
  const height = y + 4
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    text('title', LEFT, 32, title),
    text('subtitle', LEFT, 56, subtitle),
    ...body,
    text('caption', LEFT, height - 12, caption),
    '</svg>\n',
  ].join('\n')
}

function rectangle(type, y, width) {
  return `<rect class="${type}" x="${BARS}" y="${y}" width="${width}" height="${BAR}" rx="2"/>`
}

function text(type, x, y, words) {
  return `<text class="${type}" x="${x}" y="${y}">${escape(words)}</text>`
}

function escape(words) {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
