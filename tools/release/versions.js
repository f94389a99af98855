const VERSION = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?$/

/** The parts of a semantic version such as `0.2.0` or `1.0.0-beta.1`; throws if it is none. */
export function parseVersion(text) {
  const [, major, minor, patch, prerelease = null] = VERSION.exec(text) ?? []
  if (major === undefined) throw new Error(`"${text}" is not a semantic version such as 0.2.0`)
  return { major: Number(major), minor: Number(minor), patch: Number(patch), prerelease }
}

/** Negative if the first version is older, positive if it is newer, 0 if they are the same. */
export function compareVersions(first, second) {
  const [a, b] = [parseVersion(first), parseVersion(second)]
  for (const part of ['major', 'minor', 'patch']) if (a[part] !== b[part]) return a[part] - b[part]
  if (a.prerelease === b.prerelease) return 0
  if (a.prerelease === null) return 1
  if (b.prerelease === null) return -1
  return comparePrereleases(a.prerelease.split('.'), b.prerelease.split('.'))
}

/** Whether the step from one version to the next may break: a new major version, or before 1.0.0 a new minor one. */
export function mayBreak(previous, next) {
  const [a, b] = [parseVersion(previous), parseVersion(next)]
  return b.major > a.major || (a.major === 0 && b.major === 0 && b.minor > a.minor)
}

// Semantic Versioning 2.0.0 §11.4: numbers by value and before words, the shorter list first.
function comparePrereleases(a, b) {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    if (a[at] === undefined) return -1
    if (b[at] === undefined) return 1
    if (a[at] === b[at]) continue
    const areNumbers = [a[at], b[at]].map((part) => /^\d+$/.test(part))
    if (areNumbers[0] && areNumbers[1]) return Number(a[at]) - Number(b[at])
    if (areNumbers[0] !== areNumbers[1]) return areNumbers[0] ? -1 : 1
    return a[at] < b[at] ? -1 : 1
  }
  return 0
}
