import { toRatio } from './figures.js'

/**
 * @typedef {object} Bar
 * @property {string} label
 * @property {'ours' | 'peer'} kind
 * @property {number} share Relative to the bare route: 1 is the full length.
 * @property {[low: number, high: number]} [spread] The middle half of the rounds, as shares.
 * @property {string} note Above the bar, right-aligned.
 */

/**
 * @typedef {object} Chart
 * @property {string} title
 * @property {string} subtitle
 * @property {string} caption
 * @property {{ title: string, note: string, bars: Bar[] }[]} groups
 */

// Narrow, with labels above the bars: phones show the image at half its width, and its text must stay readable.
const [WIDTH, LEFT, LONGEST] = [540, 20, 500]
const [LINE, BAR, ROW, GAP] = [20, 10, 40, 28]
// Roughly how many characters fit on a line, by text style.
const FITS = { title: 46, subtitle: 68, caption: 80 }

const SHOWN = ['Fastify', 'Express', 'Koa', 'Hono', 'Nest on Express']
const OURS = {
  tokenlib: 'tokenlib',
  'tokenlib, a million revoked in memory': 'tokenlib, 1 million revoked in memory',
  'tokenlib, Redis through a replica, a million revoked': 'tokenlib, 1 million revoked, Redis replica',
  'tokenlib, Redis store': 'tokenlib with one Redis lookup',
}

// The site's font and colours. The page that shows an image cannot style it, so the image queries the colour scheme
// itself.
const STYLE = `
  text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1b2126 }
  .title { font-size: 18px; font-weight: 600 }
  .group { font-size: 15px; font-weight: 600 }
  .subtitle, .caption, .bare, .note { fill: #545c61 }
  .caption { font-size: 12px }
  .bare, .note { text-anchor: end }
  .track { fill: #e7e4dc }
  .ours { fill: #0b6158 }
  .peer { fill: #8d928f }
  .spread { stroke: #1b2126; stroke-width: 1.5; fill: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6ebe9 }
    .subtitle, .caption, .bare, .note { fill: #a3adab }
    .track { fill: #303938 }
    .ours { fill: #63d2c2 }
    .peer { fill: #7a8583 }
    .spread { stroke: #e6ebe9 }
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
    title: 'Speed of a guarded route next to an open one',
    subtitle:
      'Requests per second of CPU time; longer is better. The grey track is the same route without a guard (100 %). ' +
      'Thin lines and parentheses show the spread: the middle half of the rounds.',
    caption,
    groups: SHOWN.flatMap((title) => {
      const figures = groups.find(({ id }) => id === `http ${title}`)?.figures ?? []
      const bare = figures.find(({ name }) => name === 'bare')
      if (bare === undefined) return []
      return [
        { title, note: `open: ${toCost(bare)}`, bars: figures.flatMap((figure) => toBars(figure, bare)) },
      ]
    }),
  }
}

function toBars(figure, bare) {
  const isPeer = figure.name.endsWith('Redis GET')
  const label = isPeer ? figure.name.replace(', ', ' with one ') : OURS[figure.name]
  if (label === undefined) return []
  const { median: share, low, high } = toRatio(figure.samples, bare.samples)
  const [percent, from, to] = [share, low, high].map((ratio) => Math.round(ratio * 100))
  const note = `${percent} % (${from} – ${to}), ${toCost(figure)}`
  return [{ label, kind: isPeer ? 'peer' : 'ours', share, spread: [low, high], note }]
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
  // A spread may exceed the full length.
  const most = Math.max(
    1,
    ...groups.flatMap(({ bars }) => bars.map(({ share, spread }) => spread?.[1] ?? share)),
  )
  const toLength = (share) => Math.round((share / most) * LONGEST)
  const body = []
  let y = 34
  const addLines = (type, words) => {
    for (const line of wrap(words, FITS[type])) {
      body.push(text(type, LEFT, y, line))
      y += LINE
    }
  }
  addLines('title', title)
  y += 4
  addLines('subtitle', subtitle)
  for (const group of groups) {
    y += GAP
    body.push(text('group', LEFT, y, group.title), text('bare', LEFT + LONGEST, y, group.note))
    y += 6
    for (const { label, kind, share, spread, note } of group.bars) {
      body.push(text('label', LEFT, y + 18, label), text('note', LEFT + LONGEST, y + 18, note))
      body.push(
        rectangle('track', y + 25, toLength(1)),
        rectangle(kind, y + 25, Math.max(1, toLength(share))),
      )
      if (spread !== undefined) body.push(whisker(y + 25, ...spread.map(toLength)))
      y += ROW
    }
  }
  y += GAP + 6
  addLines('caption', caption)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    ...body,
    '</svg>\n',
  ].join('\n')
}

function rectangle(type, y, width) {
  return `<rect class="${type}" x="${LEFT}" y="${y}" width="${width}" height="${BAR}" rx="2"/>`
}

function whisker(y, low, high) {
  const [from, to, middle] = [LEFT + low, LEFT + high, y + BAR / 2]
  return `<path class="spread" d="M${from} ${y}v${BAR}M${from} ${middle}H${to}M${to} ${y}v${BAR}"/>`
}

function text(type, x, y, words) {
  return `<text class="${type}" x="${x}" y="${y}">${escape(words)}</text>`
}

// SVG does not wrap text.
function wrap(words, most) {
  const lines = ['']
  for (const word of words.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim()
    if (longer.length <= most) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

function escape(words) {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
