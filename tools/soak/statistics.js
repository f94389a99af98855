/** The middle of the values, or null of none. */
export function median(values) {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.floor(sorted.length / 2)] ?? null
}

/** The line through points of [minute, value] by least squares: its slope per hour, and how sure that is. */
export function fitLine(points) {
  if (points.length < 3) return null
  const mean = (at) => points.reduce((sum, point) => sum + point[at], 0) / points.length
  const [meanX, meanY] = [mean(0), mean(1)]
  let [xx, xy] = [0, 0]
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2
    xy += (x - meanX) * (y - meanY)
  }
  if (xx === 0) return null
  const slope = xy / xx
  const squares = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  const standardError = Math.sqrt(squares / (points.length - 2) / xx)
  return { perHour: slope * 60, standardErrorPerHour: standardError * 60 }
}

/** The values of the first and of the last quarter of a series, as medians. */
export function compareQuarters(values) {
  const quarter = Math.max(1, Math.floor(values.length / 4))
  return { before: median(values.slice(0, quarter)), after: median(values.slice(-quarter)) }
}
