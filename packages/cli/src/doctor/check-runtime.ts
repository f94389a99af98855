import { type Check, createFinding, ok } from './findings.js'

/** What the checks of the runtime look at. */
export interface RuntimeFacts {
  /** As `process.versions.node` has it. */
  readonly nodeVersion: string
  readonly nodeEnv: string | null
  /** Epoch milliseconds. */
  readonly now: number
}

// As in `engines` of package.json.
const MIN_VERSION = [20, 19]

// https://github.com/nodejs/release#release-schedule: the last day with security fixes.
const ENDS: Readonly<Record<number, string>> = {
  20: '2026-04-30',
  21: '2024-06-01',
  22: '2027-04-30',
  23: '2025-06-01',
  24: '2028-04-30',
  25: '2026-06-01',
  26: '2029-04-30',
}

const checkNodeVersion: Check<RuntimeFacts> = ({ nodeVersion, now }) => {
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number)
  const [oldest = 0, oldestMinor = 0] = MIN_VERSION
  if (major < oldest || (major === oldest && minor < oldestMinor)) {
    return createFinding('node-version', 'error', {
      title: `Node ${nodeVersion} is older than ${MIN_VERSION.join('.')}, which tokenlib needs.`,
      fix: 'Install a supported version: https://nodejs.org',
    })
  }
  const end = ENDS[major]
  if (end === undefined || now < Date.parse(end)) return ok('node-version', `Node ${nodeVersion}.`)
  return createFinding('node-version', 'warning', {
    title: `Node ${major} has had no security fixes since ${end}.`,
    detail: 'tokenlib runs on it, but bugs in its TLS, HTTP and cryptography are not fixed.',
    fix: 'Install a supported version: https://nodejs.org',
  })
}

const checkNodeEnv: Check<RuntimeFacts> = ({ nodeEnv }) => {
  if (nodeEnv === 'production') return ok('node-env', 'NODE_ENV is production.')
  return createFinding('node-env', 'note', {
    title: `NODE_ENV is ${nodeEnv === null ? 'not set' : nodeEnv}, so this may not be what runs in production.`,
    fix: 'Run doctor with the environment of production: npx tokenlib doctor --env-file <path>',
  })
}

/** The checks of the process itself. */
export const RUNTIME_CHECKS: readonly Check<RuntimeFacts>[] = [checkNodeVersion, checkNodeEnv]
