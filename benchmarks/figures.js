/**
 * @typedef {object} Sample One turn of a contestant.
 * @property {number} cost CPU time of its process per call or request, in microseconds.
 * @property {number} [perSecond] Requests.
 * @property {number} [p99] Latency in milliseconds.
 */

/**
 * @typedef {object} Figure What one contestant came to.
 * @property {string} name
 * @property {number} cost The median of all rounds; `low` and `high` are the smallest and the largest.
 * @property {number} low
 * @property {number} high
 * @property {number} [perSecond] The median of all rounds, as is `p99`.
 * @property {number} [p99]
 * @property {(number | null)[]} samples The costs by round; null where it was left out.
 */

/**
 * @typedef {object} Group Contestants that were measured in turn, and so can be compared.
 * @property {string} id
 * @property {string} title
 * @property {Figure[]} figures
 */

/**
 * Samples contestants in turn, round after round, every other round backwards: whatever slows the machine for a while
 * slows neighbours alike, and nobody is always the first.
 *
 * @template {{ name: string, seldom?: boolean }} Given `seldom` is measured in every third round only.
 * @param {readonly Given[]} contestants
 * @param {number} rounds
 * @param {(contestant: Given) => Sample | Promise<Sample>} sample
 * @returns {Promise<Map<string, (Sample | null)[]>>} Samples by name and round; null where one was left out.
 */
export async function alternate(contestants, rounds, sample) {
  /** @type {Map<string, (Sample | null)[]>} */
  const samples = new Map(contestants.map(({ name }) => [name, Array(rounds).fill(null)]))
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contestants : contestants.toReversed()
    for (const contestant of order) {
      if (contestant.seldom === true && round % 3 !== 0) continue
      samples.get(contestant.name)[round] = await sample(contestant)
    }
  }
  return samples
}

/**
 * The figures of a group from its samples.
 *
 * @param {string} id
 * @param {string} title
 * @param {Map<string, (Sample | null)[]>} samples
 * @returns {Group}
 */
export function createGroup(id, title, samples) {
  const figures = Array.from(samples, ([name, rounds]) => {
    const taken = rounds.filter((sample) => sample !== null)
    const { median: cost, low, high } = toSpread(taken.map((sample) => sample.cost))
    const figure = { name, cost, low, high }
    for (const part of ['perSecond', 'p99']) {
      if (taken[0][part] !== undefined) figure[part] = median(taken.map((sample) => sample[part]))
    }
    return { ...figure, samples: rounds.map((sample) => sample && Number(sample.cost.toPrecision(5))) }
  })
  return { id, title, figures }
}

/**
 * A group as lines of text, each contestant beside the first: the ratio is `first / this`.
 *
 * @param {Group} group
 */
export function describeGroup({ title, figures }) {
  const rows = figures.map(({ name, cost, low, high, perSecond, p99, samples }) => {
    const ratio = toRatio(samples, figures[0].samples)
    return [
      name,
      `${toCost(cost)} µs`,
      `${toCost(low)} – ${toCost(high)}`,
      `${ratio.median.toFixed(2)}x`,
      `${ratio.low.toFixed(2)} – ${ratio.high.toFixed(2)}`,
      ...(perSecond === undefined ? [] : [`${toCount(perSecond)}/s`, `p99 ${p99.toFixed(1)} ms`]),
    ]
  })
  return `\n${title}\n${alignRows(rows)}`
}

/**
 * Rows of numbers with their names above, as text.
 *
 * @param {readonly Record<string, number>[]} rows
 */
export function describeRows(rows) {
  const names = Object.keys(rows[0])
  return alignRows([names, ...rows.map((row) => names.map((name) => row[name].toLocaleString('en-US')))])
}

/** A whole number with commas. */
export function toCount(value) {
  return Math.round(value).toLocaleString('en-US')
}

/**
 * How many times the cost of one contestant the other's is, by the rounds that both took part in: above 1 where the
 * first costs less.
 *
 * A machine is faster in one minute than in the next. Two samples of the same round are seconds apart, so their ratio
 * is steadier than that of two medians.
 *
 * @param {readonly (number | null)[]} own Costs by round; null where it was left out.
 * @param {readonly (number | null)[]} other
 */
export function toRatio(own, other) {
  const ratios = own.flatMap((cost, round) => {
    const against = other[round]
    return typeof cost === 'number' && typeof against === 'number' ? [against / cost] : []
  })
  return toSpread(ratios)
}

/**
 * The median of a list, its smallest and its largest value.
 *
 * @param {readonly number[]} values
 */
export function toSpread(values) {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/**
 * The middle of a list, or the mean of its two middles.
 *
 * @param {readonly number[]} values
 * @returns {number}
 */
export function median(values) {
  if (values.length === 0) throw new TypeError('An empty list has no median')
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

function toCost(microseconds) {
  return microseconds < 10 ? microseconds.toFixed(2) : microseconds.toFixed(1)
}

// The first column to the left, numbers to the right.
function alignRows(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  const align = (cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))
  return rows.map((row) => `  ${row.map(align).join('   ')}`).join('\n')
}
