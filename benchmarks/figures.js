/**
 * @typedef {object} Sample One turn of a contestant.
 * @property {number} used CPU time of its process, in microseconds.
 * @property {number} calls How many calls or requests that was for.
 * @property {number} [perSecond] Requests.
 */

/**
 * @typedef {object} Round All turns of a contestant in one round.
 * @property {number} cost CPU time per call or request, in microseconds.
 * @property {number} [perSecond] Requests.
 */

/**
 * @typedef {object} Figure What one contestant came to.
 * @property {string} name
 * @property {number} cost The median of all rounds. Half of the rounds lie between `low` and `high`.
 * @property {number} low
 * @property {number} high
 * @property {number} [perSecond] The median of all rounds.
 * @property {(number | null)[]} samples The costs by round; null where it was left out.
 */

/**
 * @typedef {object} Group Contestants that were measured in turn, and so can be compared.
 * @property {string} id
 * @property {string} title
 * @property {Figure[]} figures
 */

/**
 * Samples contestants in turn, round after round, several short turns in each round and every other turn backwards:
 * whatever slows the machine for a while slows all alike, and nobody is always the first.
 *
 * @template {{ name: string, seldom?: boolean }} Given `seldom` is measured in every third round only.
 * @param {readonly Given[]} contestants
 * @param {{ rounds: number, turns: number }} pace
 * @param {(contestant: Given, turn: number) => Promise<Sample>} sample
 * @returns {Promise<Map<string, (Round | null)[]>>} By name and round; null where one was left out.
 */
export async function alternate(contestants, { rounds, turns }, sample) {
  /** @type {Map<string, (Round | null)[]>} */
  const samples = new Map(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const present = contestants.filter(({ seldom }) => seldom !== true || round % 3 === 0)
    const taken = new Map(contestants.map(({ name }) => [name, []]))
    for (let turn = 0; turn < turns; turn++) {
      const order = (round + turn) % 2 === 0 ? present : present.toReversed()
      for (const contestant of order) taken.get(contestant.name).push(await sample(contestant, turn))
    }
    for (const [name, given] of taken) samples.get(name).push(given.length === 0 ? null : toRound(given))
  }
  return samples
}

// Added up, not the median of the turns: a garbage collection in one of them is part of the cost.
function toRound(taken) {
  const add = (part) => taken.reduce((sum, sample) => sum + sample[part], 0)
  const cost = add('used') / add('calls')
  return taken[0].perSecond === undefined ? { cost } : { cost, perSecond: add('perSecond') / taken.length }
}

/**
 * The figures of a group from its samples.
 *
 * @param {string} id
 * @param {string} title
 * @param {Map<string, (Round | null)[]>} samples
 * @returns {Group}
 */
export function createGroup(id, title, samples) {
  const figures = Array.from(samples, ([name, rounds]) => {
    const taken = rounds.filter((sample) => sample !== null)
    const { median: cost, low, high } = toSpread(taken.map((sample) => sample.cost))
    const figure = { name, cost, low, high }
    if (taken[0].perSecond !== undefined) figure.perSecond = median(taken.map(({ perSecond }) => perSecond))
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
  const rows = figures.map(({ name, cost, low, high, perSecond, samples }) => {
    const ratio = toRatio(samples, figures[0].samples)
    return [
      name,
      `${toCost(cost)} µs`,
      `${toCost(low)} – ${toCost(high)}`,
      `${ratio.median.toFixed(2)}x`,
      `${ratio.low.toFixed(2)} – ${ratio.high.toFixed(2)}`,
      ...(perSecond === undefined ? [] : [`${toCount(perSecond)}/s`]),
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
  return toSpread(pairRounds(own, other, (cost, against) => against / cost))
}

/**
 * How much more one contestant costs than the other, in microseconds. Uses only rounds that both took part in.
 *
 * @param {readonly (number | null)[]} own
 * @param {readonly (number | null)[]} other
 */
export function toDifference(own, other) {
  return toSpread(pairRounds(own, other, (cost, against) => cost - against))
}

function pairRounds(own, other, compare) {
  return own.flatMap((cost, round) => {
    const against = other[round]
    return typeof cost === 'number' && typeof against === 'number' ? [compare(cost, against)] : []
  })
}

/**
 * The median of a list, and what half of its values lie between.
 *
 * @param {readonly number[]} values
 */
export function toSpread(values) {
  if (values.length === 0) throw new TypeError('An empty list has no median')
  const sorted = values.toSorted((a, b) => a - b)
  return { median: toQuantile(sorted, 0.5), low: toQuantile(sorted, 0.25), high: toQuantile(sorted, 0.75) }
}

/**
 * The middle of a list, or the mean of its two middles.
 *
 * @param {readonly number[]} values
 */
export function median(values) {
  return toSpread(values).median
}

// Between two values where the share lies between them.
function toQuantile(sorted, share) {
  const at = (sorted.length - 1) * share
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]]
  return below + (above - below) * (at - Math.floor(at))
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
