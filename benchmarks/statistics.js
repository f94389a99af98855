/**
 * @typedef {object} Spread
 * @property {number} median
 * @property {number} low The smallest.
 * @property {number} high The largest.
 */

/**
 * The middle of a list, or the mean of its two middles.
 *
 * @param {readonly number[]} values
 * @returns {number}
 */
export function median(values) {
  if (values.length === 0) throw new TypeError('There is no median of nothing')
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

/**
 * The value that a share of all values does not exceed.
 *
 * @param {ArrayLike<number>} values
 * @param {number} share From 0 to 1.
 * @returns {number}
 */
export function percentile(values, share) {
  if (values.length === 0) throw new TypeError('There is no percentile of nothing')
  const sorted = Float64Array.from(values).toSorted()
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
}

/**
 * The median of a list, and its ends.
 *
 * @param {readonly number[]} values
 * @returns {Spread}
 */
export function toSpread(values) {
  return { median: median(values), low: Math.min(...values), high: Math.max(...values) }
}

/**
 * How one contestant did against another, by the rounds that both took part in.
 *
 * A machine is faster in one minute than in the next. Two samples of the same round are seconds apart, so their ratio
 * is steadier than that of two medians.
 *
 * @param {readonly (number | null)[]} ours By round; null where it was left out.
 * @param {readonly (number | null)[]} theirs
 * @returns {Spread}
 */
export function toRatio(ours, theirs) {
  const ratios = []
  for (const [round, own] of ours.entries()) {
    const other = theirs[round]
    if (typeof own === 'number' && typeof other === 'number') ratios.push(own / other)
  }
  return toSpread(ratios)
}
