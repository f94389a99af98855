import { median, toSpread } from './statistics.js'

/**
 * @typedef {object} Sample
 * @property {number} perSecond
 * @property {number} [p50] Milliseconds.
 * @property {number} [p99] Milliseconds.
 */

/**
 * @typedef {object} Figure What one contestant came to.
 * @property {string} name
 * @property {number} median Per second, as are `low`, `high` and `samples`.
 * @property {number} low
 * @property {number} high
 * @property {number} [p50] Milliseconds, the median of the rounds.
 * @property {number} [p99] Milliseconds, the median of the rounds.
 * @property {(number | null)[]} samples By round; null where it was left out.
 */

/**
 * @typedef {object} Group Contestants that were measured in turn, and so can be compared.
 * @property {string} id
 * @property {string} title
 * @property {Figure[]} figures
 */

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
    const figure = { name, ...toSpread(taken.map(({ perSecond }) => perSecond)) }
    for (const part of ['p50', 'p99']) {
      if (taken[0][part] !== undefined) figure[part] = median(taken.map((sample) => sample[part]))
    }
    return { ...figure, samples: rounds.map((sample) => sample && Math.round(sample.perSecond)) }
  })
  return { id, title, figures }
}

/**
 * A group as lines of text, each contestant beside the first.
 *
 * @param {Group} group
 */
export function describeGroup({ title, figures }) {
  const [first] = figures
  const width = Math.max(...figures.map(({ name }) => name.length))
  const lines = figures.map(({ name, median, low, high, p50, p99 }) => {
    const share = `${(median / first.median).toFixed(2)}x`
    const latency = p99 === undefined ? '' : `   p50 ${toMilliseconds(p50)}  p99 ${toMilliseconds(p99)}`
    const range = `${toCount(low)} – ${toCount(high)}`
    return `  ${name.padEnd(width)}  ${toCount(median).padStart(11)}/s  ${share.padStart(7)}   ${range}${latency}`
  })
  return [`\n${title}`, ...lines].join('\n')
}

/** A whole number with commas. */
export function toCount(value) {
  return Math.round(value).toLocaleString('en-US')
}

function toMilliseconds(value) {
  return value < 0.1 ? `${(value * 1000).toFixed(1)} µs` : `${value.toFixed(2)} ms`
}
