import { systemClock } from 'tokenlib/kit'
import { type Command, type CommandCall, readText, STORE_OPTIONS, writeJson } from '../command.js'
import { parseTimeout } from '../connect.js'
import { closeInTime } from '../driver.js'
import { CommandError, EXIT } from '../exit.js'
import { safe } from '../safe-text.js'
import { checkApplication, readApplication } from './check-application.js'
import { checkConfiguration } from './check-configuration.js'
import { RUNTIME_CHECKS } from './check-runtime.js'
import { checkAddress, checkApplicationStore, type StoreOutcome } from './find-store.js'
import { countLevel, type Finding, runChecks, sortFindings } from './findings.js'
import { type Application, loadApplication } from './load-application.js'
import { type ConfigurationFacts, readConfiguration, readManagerConfiguration } from './read-configuration.js'
import { writeReport } from './report.js'
import { toMillisecondsText } from '../words.js'

/** Reports what is unsafe, unfit or slow. */
export const doctor: Command = {
  name: 'doctor',
  summary: 'check the configuration and the store',
  usage: 'doctor [options]',
  options: {
    ...STORE_OPTIONS,
    app: {
      type: 'string',
      value: 'path',
      description: 'run a module of the application, and check the manager that it exports, and its store',
    },
    export: {
      type: 'string',
      value: 'name',
      description: 'the export of --app that is the manager, if it has several',
    },
    replica: { type: 'boolean', description: 'open a replica of the store, and watch it for some seconds' },
    'keys-in-code': {
      type: 'boolean',
      description: 'the application passes its keys or issuers to the manager, not by the environment',
    },
    strict: { type: 'boolean', description: 'exit with 1 for warnings too' },
    verbose: { type: 'boolean', short: 'v', description: 'print reasons, and everything that is fine' },
  },
  details: safe`
Reads the environment as TokenConfig.fromEnv() does, and looks at the store without changing its data. With --app it
checks the application itself: configuration in code, keys, issuers, the store and its replica. The module is executed, so
name one that creates the manager and does not start the server.
Exits with 0 if nothing must be fixed, 1 if something must, 3 if the store cannot be reached.`,
  run: runDoctor,
}

async function runDoctor(call: CommandCall): Promise<number> {
  assertUsage(call)
  const path = readText(call, 'app')
  if (path === null)
    return report(call, readConfiguration(call.env, call.values['keys-in-code'] === true), null)
  const write = process.stdout.write.bind(process.stdout)
  // What the application prints is not part of the report.
  process.stdout.write = process.stderr.write.bind(process.stderr)
  try {
    const application = await loadApplication(call, path)
    try {
      return await report(call, readManagerConfiguration(application.inspection, call.env), application)
    } finally {
      await closeInTime(() => application.close())
    }
  } finally {
    process.stdout.write = write
  }
}

function assertUsage({ values, positionals }: CommandCall): void {
  const hasApp = values['app'] !== undefined
  const mistake = [
    positionals.length > 0 && 'doctor takes options only',
    !hasApp && values['export'] !== undefined && '--export names an export of the module that --app names',
    hasApp && values['store'] !== undefined && '--app checks the store of the manager: leave out --store',
    hasApp &&
      values['namespace'] !== undefined &&
      '--app checks the namespace of the manager: leave out --namespace',
    hasApp &&
      values['keys-in-code'] === true &&
      '--app sees the keys of the manager: leave out --keys-in-code',
  ].find((text) => typeof text === 'string')
  if (typeof mistake === 'string') throw new CommandError(mistake, EXIT.usage)
}

async function report(
  call: CommandCall,
  configuration: ConfigurationFacts,
  application: Application | null,
): Promise<number> {
  const { terminal, values, env } = call
  const runtime = { nodeVersion: process.versions.node, nodeEnv: configuration.nodeEnv, now: systemClock() }
  const facts =
    application &&
    (await readApplication(application.inspection, configuration.isProduction, parseTimeout(call)))
  const store =
    application === null
      ? await checkAddress(call, configuration)
      : await checkApplicationStore(call, configuration, application)
  const findings = sortFindings([
    ...checkConfiguration(configuration),
    ...(facts === null ? [] : checkApplication(facts)),
    ...runChecks(runtime, RUNTIME_CHECKS),
    ...store.findings,
  ])
  const subject = { store, configuration, application }
  if (values['json'] === true) writeJson(terminal, toDocument(findings, subject))
  else {
    writeReport(terminal, findings, {
      subjects: toSubjects(subject),
      width: Number(env['COLUMNS']) || process.stdout.columns || 80,
      isVerbose: values['verbose'] === true,
    })
  }
  if (store.isUnavailable) return EXIT.unavailable
  const isBad = countLevel(findings, 'error') > 0
  const isDoubtful = values['strict'] === true && countLevel(findings, 'warning') > 0
  return isBad || isDoubtful ? EXIT.no : EXIT.ok
}

interface Subject {
  readonly store: StoreOutcome
  readonly configuration: ConfigurationFacts
  readonly application: Application | null
}

function toDocument(findings: readonly Finding[], { store, configuration, application }: Subject): unknown {
  const { kind, url, version, latency, clock, replica } = store
  return {
    findings,
    summary: {
      errors: countLevel(findings, 'error'),
      warnings: countLevel(findings, 'warning'),
      notes: countLevel(findings, 'note'),
    },
    node: { version: process.versions.node, env: configuration.nodeEnv },
    app: application && {
      path: application.path,
      export: application.exportName,
      keys: application.inspection.keys.map(({ ids: _ids, ...key }) => key),
      issuers: application.inspection.issuers.map(({ issuer, profile, audience }) => ({
        issuer,
        profile,
        audience,
      })),
      store: application.inspection.store?.system ?? null,
    },
    store: kind === null ? null : { kind, url, version, latency, clock },
    replica,
  }
}

function toSubjects({ store, configuration, application }: Subject): [string, string][] {
  const { kind, url, version, latency } = store
  const { nodeEnv } = configuration
  const subjects: [string, string][] = [
    ['node', `${process.versions.node}${nodeEnv === null ? '' : `, NODE_ENV=${nodeEnv}`}`],
  ]
  if (application !== null) subjects.push(['app', `${application.exportName} of ${application.path}`])
  if (kind !== null) {
    const speed = latency === null ? '' : `, ${toMillisecondsText(latency.medianMs)} for a check`
    subjects.push(['store', `${url}${version === null ? '' : `, version ${version}`}${speed}`])
  }
  return subjects
}
