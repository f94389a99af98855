const MILLISECONDS = { us: 0.001, ms: 1, s: 1000, m: 60_000 }

/**
 * The figures in what `wrk --latency` prints. Throws when an answer was no 2xx or 3xx, or when there was none.
 *
 * @param {string} text
 * @returns {import('../group.js').Sample & { p50: number, p99: number }}
 */
export function parseWrk(text) {
  const refused = /Non-2xx or 3xx responses: (\d+)/.exec(text)
  if (refused !== null) throw new Error(`${refused[1]} answers were no 2xx`)
  const failed = /Socket errors: .*/.exec(text)
  if (failed !== null) throw new Error(failed[0])
  const perSecond = Number(/^Requests\/sec: +([\d.]+)/m.exec(text)?.[1])
  if (!(perSecond > 0)) throw new Error(`wrk has no figures:\n${text}`)
  return { perSecond, p50: parseLatency(text, 50), p99: parseLatency(text, 99) }
}

function parseLatency(text, percent) {
  const [, value, unit] =
    new RegExp(`^ +${percent}%(?:\\.0+)? +([\\d.]+)(us|ms|s|m) *$`, 'm').exec(text) ?? []
  if (value === undefined) throw new Error(`wrk has no latency of ${percent} %:\n${text}`)
  return Number(value) * MILLISECONDS[unit]
}
