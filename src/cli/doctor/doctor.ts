import { parseDuration, systemClock } from '../../time.js'
import { type Command, type CommandCall, STORE_OPTIONS, writeJson } from '../command.js'
import { readOpenOptions, readStoreUrl } from '../connect.js'
import { CommandError, EXIT } from '../exit.js'
import { openStore } from '../open-store.js'
import { safe } from '../safe-text.js'
import { checkConfiguration } from './check-configuration.js'
import { checkOpenedStore, type StoreReport } from './check-opened-store.js'
import { RUNTIME_CHECKS } from './check-runtime.js'
import { countLevel, createFinding, type Finding, ok, runChecks, sortFindings } from './findings.js'
import { type ConfigurationFacts, readConfiguration } from './read-configuration.js'
import { writeReport } from './report.js'
import { toMillisecondsText } from './texts.js'

/** Reports what is unsafe, unfit or slow. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'check the configuration and the store',
  usage: 'doctor [options]',
  options: {
    ...STORE_OPTIONS,
    replica: { type: 'boolean', description: 'open a replica of the store, and watch it for some seconds' },
    'keys-in-code': {
      type: 'boolean',
      description: 'the application passes its keys or issuers to the manager, not by the environment',
    },
    strict: { type: 'boolean', description: 'exit with 1 for warnings too' },
    verbose: { type: 'boolean', short: 'v', description: 'print reasons, and everything that is fine' },
  },
  details: safe`
Reads the environment as TokenConfig.fromEnv() does, and looks at the store without changing its data.
Exits with 0 if nothing must be fixed, 1 if something must, 3 if the store cannot be reached.`,
  run: runDoctor,
}

interface StoreOutcome extends StoreReport {
  readonly kind: string | null
  /** Without a password. */
  readonly url: string | null
  readonly isUnavailable: boolean
}

async function runDoctor(call: CommandCall): Promise<number> {
  const { terminal, values, env, positionals } = call
  if (positionals.length > 0) throw new CommandError('doctor takes options only', EXIT.usage)
  const isJson = values['json'] === true
  const configuration = readConfiguration(env, values['keys-in-code'] === true)
  const runtime = { nodeVersion: process.versions.node, nodeEnv: configuration.nodeEnv, now: systemClock() }
  const store = await checkStore(call, configuration)
  const findings = sortFindings([
    ...checkConfiguration(configuration),
    ...runChecks(runtime, RUNTIME_CHECKS),
    ...store.findings,
  ])
  if (isJson) writeJson(terminal, toDocument(findings, store, configuration))
  else {
    writeReport(terminal, findings, {
      subjects: toSubjects(store, configuration),
      width: Number(env['COLUMNS']) || process.stdout.columns || 80,
      isVerbose: values['verbose'] === true,
    })
  }
  if (store.isUnavailable) return EXIT.unavailable
  const isBad = countLevel(findings, 'error') > 0
  const isDoubtful = values['strict'] === true && countLevel(findings, 'warning') > 0
  return isBad || isDoubtful ? EXIT.no : EXIT.ok
}

const NOTHING: StoreOutcome = {
  kind: null,
  url: null,
  isUnavailable: false,
  findings: [],
  version: null,
  latency: null,
  clock: null,
  replica: null,
}

async function checkStore(call: CommandCall, { config }: ConfigurationFacts): Promise<StoreOutcome> {
  const { terminal, values } = call
  const withReplica = values['replica'] === true
  const address = readStoreUrl(call)
  if (address === null) {
    if (withReplica) throw new CommandError('--replica needs --store or TOKENLIB_STORE', EXIT.usage)
    return { ...NOTHING, findings: [STORE_MISSING] }
  }
  let url: string | null = null
  try {
    const opened = await openStore(address, readOpenOptions(call))
    url = opened.url
    try {
      const report = await checkOpenedStore(opened, {
        address,
        revocationTimeoutMs: parseDuration(config.JWT_REVOCATION_TIMEOUT) * 1000,
        withReplica,
        progress: (text) => terminal.warn(safe`${text} …\n`),
      })
      const findings = [ok('store-reachable', 'The store can be reached.'), ...report.findings]
      return { ...report, findings, kind: opened.kind, url, isUnavailable: false }
    } finally {
      await opened.close()
    }
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== EXIT.unavailable) throw error
    return { ...NOTHING, url, isUnavailable: true, findings: [toUnreachable(error)] }
  }
}

const STORE_MISSING: Finding = createFinding('store-missing', 'warning', {
  title: 'No store was given, so nothing about revocation was looked at.',
  detail: 'Without a store, a token is valid until it expires, and log-out ends nothing.',
  fix: 'Run: npx tokenlib doctor --store <url>, or set TOKENLIB_STORE.',
})

function toUnreachable(error: CommandError): Finding {
  return createFinding('store-reachable', 'error', {
    title: `${error.message}.`,
    detail: 'While the store does not answer, guarded routes answer 503.',
    fix: 'Check the address, the password, the firewall and that the server runs.',
  })
}

function toDocument(
  findings: readonly Finding[],
  { kind, url, version, latency, clock, replica }: StoreOutcome,
  { nodeEnv }: ConfigurationFacts,
): unknown {
  return {
    findings,
    summary: {
      errors: countLevel(findings, 'error'),
      warnings: countLevel(findings, 'warning'),
      notes: countLevel(findings, 'note'),
    },
    node: { version: process.versions.node, env: nodeEnv },
    store: kind === null ? null : { kind, url, version, latency, clock },
    replica,
  }
}

function toSubjects(
  { kind, url, version, latency }: StoreOutcome,
  { nodeEnv }: ConfigurationFacts,
): [string, string][] {
  const subjects: [string, string][] = [
    ['node', `${process.versions.node}${nodeEnv === null ? '' : `, NODE_ENV=${nodeEnv}`}`],
  ]
  if (kind !== null) {
    const speed = latency === null ? '' : `, ${toMillisecondsText(latency.medianMs)} for a check`
    subjects.push(['store', `${url}${version === null ? '' : `, version ${version}`}${speed}`])
  }
  return subjects
}
