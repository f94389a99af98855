/**
 * @typedef {object} Bar
 * @property {string} label
 * @property {'bare' | 'ours' | 'peer'} kind
 * @property {number} share Of the longest possible bar, 0 to 1.
 * @property {string} note Beside the bar.
 */

/**
 * @typedef {object} Chart
 * @property {string} title
 * @property {string} caption
 * @property {{ title: string, bars: Bar[] }[]} groups
 */

const WIDTH = 820
const LABEL = 220
const LONGEST = 420
const ROW = 20
const GAP = 34
const TOP = 76

// Shown as an image, so the page cannot style it: it looks by itself whether it is on a dark page.
const STYLE = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .group { font-weight: 600 }
  .caption, .note { fill: #59636e }
  .note { font-size: 12px }
  .bare { fill: #b7bdc5 }
  .ours { fill: #0969da }
  .peer { fill: #d4843e }
  .line { stroke: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .caption, .note { fill: #9198a1 }
    .bare { fill: #656c76 }
    .ours { fill: #4493f8 }
    .peer { fill: #c27a35 }
    .line { stroke: #3d444d }
  }`

/**
 * Groups of horizontal bars as an SVG document.
 *
 * @param {Chart} chart
 */
export function toSvg({ title, caption, groups }) {
  let y = TOP
  const body = []
  for (const group of groups) {
    body.push(text('group', 16, y, group.title))
    y += 12
    for (const bar of group.bars) {
      const width = Math.max(1, Math.round(bar.share * LONGEST))
      body.push(text('label', 16, y + 14, bar.label))
      body.push(`<rect class="${bar.kind}" x="${LABEL}" y="${y + 3}" width="${width}" height="14" rx="2"/>`)
      body.push(text('note', LABEL + width + 8, y + 14, bar.note))
      y += ROW
    }
    y += GAP
  }
  const height = y - 4
  const line = `<line class="line" x1="${LABEL + LONGEST}" x2="${LABEL + LONGEST}" y1="${TOP - 8}" y2="${height - 26}"/>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img">`,
    `<title>${escape(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    text('title', 16, 28, title),
    text('caption', 16, 48, caption),
    line,
    ...body,
    '</svg>\n',
  ].join('\n')
}

/**
 * The chart of a run: each framework with its bare server, ours and the others, as shares of the bare one.
 *
 * @param {readonly import('./group.js').Group[]} groups
 * @param {string} caption
 * @returns {Chart}
 */
export function toChart(groups, caption) {
  const shown = groups.filter(({ id }) => id.startsWith('http '))
  return {
    title: 'A guarded route: requests per second, as a share of the bare one',
    caption,
    groups: shown.map(({ id, figures }) => ({
      title: id.slice('http '.length),
      bars: toSortedBars(figures.map((figure) => toBar(figure, figures[0]))),
    })),
  }
}

function toBar({ name, median }, bare) {
  const kind = name === bare.name ? 'bare' : name.startsWith('tokenlib') ? 'ours' : 'peer'
  const share = median / bare.median
  const note = `${Math.round(share * 100)} %  (${Math.round(median).toLocaleString('en-US')}/s)`
  // A guarded route that comes out faster than the bare one is noise; its number says so, its bar ends at the line.
  return { label: name, kind, share: Math.min(1, share), note }
}

const KINDS = ['bare', 'ours', 'peer']

// In the order they were measured otherwise.
function toSortedBars(bars) {
  return bars.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}

function text(type, x, y, words) {
  return `<text class="${type}" x="${x}" y="${y}">${escape(words)}</text>`
}

function escape(words) {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
