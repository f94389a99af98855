/**
 * @typedef {object} Memory In megabytes.
 * @property {number} rss
 * @property {number} heapUsed
 * @property {number} arrayBuffers
 */

/**
 * What this process holds once the garbage is gone; it needs `--expose-gc`.
 *
 * @returns {Memory}
 */
export function readMemory() {
  globalThis.gc?.()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  return { rss: toMegabytes(rss), heapUsed: toMegabytes(heapUsed), arrayBuffers: toMegabytes(arrayBuffers) }
}

function toMegabytes(bytes) {
  return Math.round(bytes / 1e5) / 10
}
