import { parseDuration, readOrigin } from 'tokenlib/kit'
import type { CommandCall } from '../command.js'
import { parseTimeout, readOpenOptions, readStoreUrl } from '../connect.js'
import { CommandError, EXIT } from '../exit.js'
import { openStore } from '../open-store.js'
import type { OpenedStore } from '../opened-store.js'
import { safe } from '../safe-text.js'
import { checkOpenedStore, type StoreCheckOptions, type StoreReport } from './check-opened-store.js'
import { type Endpoint, readAddress, readClientEndpoint, toPlace } from './endpoint.js'
import { createFinding, type Finding, notSeen, ok } from './findings.js'
import type { Application } from './load-application.js'
import { openApplicationStore } from './open-application-store.js'
import type { ConfigurationFacts } from './read-configuration.js'

/** What was found in the store, or about the lack of one. */
export interface StoreOutcome extends StoreReport {
  readonly kind: string | null
  /** Without a password. */
  readonly url: string | null
  readonly isUnavailable: boolean
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

/** Checks the store at the address of `--store` or `TOKENLIB_STORE`. */
export async function checkAddress(
  call: CommandCall,
  configuration: ConfigurationFacts,
): Promise<StoreOutcome> {
  const withReplica = call.values['replica'] === true
  const address = readStoreUrl(call)
  if (address === null) {
    if (withReplica) throw new CommandError('--replica needs --store or TOKENLIB_STORE', EXIT.usage)
    return { ...NOTHING, findings: [STORE_MISSING] }
  }
  const endpoint = readAddress(address)
  const open = (): Promise<OpenedStore> => openStore(address, readOpenOptions(call))
  return checkOpening(open, { ...toOptions(call, configuration), endpoint, withReplica, replicated: null })
}

/** Checks the store of a manager, by the client that the application uses. */
export async function checkApplicationStore(
  call: CommandCall,
  configuration: ConfigurationFacts,
  { inspection: { store } }: Application,
): Promise<StoreOutcome> {
  const withReplica = call.values['replica'] === true
  if (store === null) {
    if (withReplica) throw new CommandError('--replica needs a manager with a store', EXIT.usage)
    return { ...NOTHING, findings: [MANAGER_WITHOUT_STORE] }
  }
  const origin = readOrigin(store)
  // What is in memory has no server to look at.
  if (store.system === 'memory') return NOTHING
  if (origin === null) return { ...NOTHING, findings: [UNKNOWN_STORE] }
  const endpoint = readClientEndpoint(origin)
  const replicated = store.replica === undefined ? null : store
  return checkOpening(() => openApplicationStore(origin, endpoint, parseTimeout(call)), {
    ...toOptions(call, configuration),
    endpoint,
    withReplica,
    replicated,
  })
}

function toOptions(
  { terminal }: CommandCall,
  { config }: ConfigurationFacts,
): Pick<StoreCheckOptions, 'revocationTimeoutMs' | 'progress'> {
  return {
    revocationTimeoutMs: parseDuration(config.JWT_REVOCATION_TIMEOUT) * 1000,
    progress: (text) => terminal.warn(safe`${text} …\n`),
  }
}

async function checkOpening(
  open: () => Promise<OpenedStore>,
  options: StoreCheckOptions,
): Promise<StoreOutcome> {
  let url: string | null = null
  try {
    const opened = await open()
    url = opened.url
    try {
      const report = await checkOpenedStore(opened, options)
      const findings = [ok('store-reachable', 'The store can be reached.'), ...report.findings]
      return { ...report, findings, kind: opened.kind, url, isUnavailable: false }
    } finally {
      await opened.close()
    }
  } catch (error) {
    if (!(error instanceof CommandError) || error.exitCode !== EXIT.unavailable) throw error
    return { ...NOTHING, url, isUnavailable: true, findings: [toUnreachable(error, options.endpoint)] }
  }
}

const STORE_MISSING: Finding = createFinding('store-missing', 'warning', {
  title: 'No store was given, so nothing about revocation was looked at.',
  detail: 'Without a store, a token is valid until it expires, and logout ends nothing.',
  fix: 'Run: npx tokenlib doctor --app <path> or --store <url>, or set TOKENLIB_STORE.',
})

const MANAGER_WITHOUT_STORE: Finding = createFinding('store-missing', 'warning', {
  title: 'The manager has no store, so nothing about revocation was looked at.',
  detail: 'Without a store, a token is valid until it expires, and logout ends nothing.',
  fix: 'Pass a store: new TokenManager({ config, store }).',
})

const UNKNOWN_STORE: Finding = notSeen(
  'store-reachable',
  'the server of the store: it is not one of createRedisStore(), createPostgresStore(), createMysqlStore() or createSqliteStore()',
  'If there is such a store behind it, run doctor --store <url> as well.',
)

function toUnreachable(error: CommandError, endpoint: Endpoint): Finding {
  return createFinding('store-reachable', 'error', {
    title: `${error.message}.`,
    detail: 'While the store does not answer, guarded routes answer 503.',
    fix:
      endpoint.host === null
        ? 'Check the path, who may open it and, if it is a socket, that the server runs.'
        : `Check the address of ${toPlace(endpoint)}, the password, the firewall and that the server runs.`,
  })
}
