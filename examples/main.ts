import { RevocationUnavailableError } from 'tokenlib'
import { START } from './frameworks.js'
import { type OpenApplication, openApplication, REPLICA_BOUND } from './open-application.js'
import { PAGE_PATH, parseOptions, type StartOptions, USAGE, wantsHelp } from './options.js'
import { isOneOfSeveral, reportToParent, type RunningProcesses, startProcesses } from './processes.js'
import type { RunningServer } from './server.js'
import { describeStore, withoutSecrets } from './stores.js'

async function main(args: readonly string[]): Promise<void> {
  if (wantsHelp(args)) return console.log(USAGE)
  let options: StartOptions
  try {
    options = parseOptions(args)
  } catch (error) {
    return fail(2, toReason(error))
  }
  await (options.processes > 1 ? runProcesses(options) : runServer(options))
}

async function runProcesses(options: StartOptions): Promise<void> {
  let processes: RunningProcesses
  try {
    processes = await startProcesses(options, console.log)
  } catch {
    // The process has already printed why.
    process.exitCode = 1
    return
  }
  console.log(describeProcesses(processes.urls, options))
  process.once('SIGINT', () => processes.stop())
  process.once('SIGTERM', () => processes.stop())
  await processes.ended
  console.log('Stopped.')
}

async function runServer(options: StartOptions): Promise<void> {
  let opened: OpenApplication
  try {
    opened = await openApplication({ ...options, pageFacts: createFacts(options) })
  } catch (error) {
    return fail(1, `Cannot start with revocations in ${describeStore(options.store)}: ${toReason(error)}`)
  }
  let server: RunningServer
  try {
    server = await START[options.framework](opened.application, options)
  } catch (error) {
    await opened.close()
    return fail(1, `Cannot listen on port ${options.port}: ${toReason(error)}. Choose another with --port.`)
  }
  const stop = async (): Promise<void> => {
    await server.close()
    await opened.close()
  }
  if (isOneOfSeveral) {
    // Ctrl-C reaches every process of a terminal; the one that started this one decides.
    process.on('SIGINT', () => undefined)
    process.once('disconnect', () => void stop())
    if (!process.connected) return stop()
    return reportToParent(opened, server.url)
  }
  console.log(describeServer(server.url, options))
  const end = async (): Promise<void> => {
    await stop()
    console.log('Stopped.')
  }
  process.once('SIGINT', () => void end())
  process.once('SIGTERM', () => void end())
}

function fail(exitCode: number, line: string): void {
  console.error(withoutSecrets(line))
  process.exitCode = exitCode
}

/** Why something failed, in one line. */
function toReason(error: unknown): string {
  if (error instanceof RevocationUnavailableError) return toReason(error.cause)
  if (error instanceof AggregateError && error.message === '') return toReason(error.errors[0])
  const { name, message } = error as Error
  return name === 'AbortError' ? 'it does not answer' : message.replaceAll(/\s*\n\s*/g, ' ')
}

function describeServer(url: string, options: StartOptions): string {
  const bearer = '-H "Authorization: Bearer $TOKEN"'
  return `
${describePage([url], options)}

tokenlib example application (${options.framework}) listening on ${url}

${describeOptions(options)}

  TOKEN=$(curl -s ${url}/token | sed 's/.*access_token":"\\([^"]*\\)".*/\\1/')
  REFRESH_TOKEN=$(curl -s -X POST ${url}/login | sed 's/.*refresh_token":"\\([^"]*\\)".*/\\1/')

  curl ${url}/token
  curl ${bearer} ${url}/token/mandatory
  curl ${bearer} ${url}/token/optional
  curl ${bearer} ${url}/profile
  curl ${bearer} ${url}/me
  curl -X DELETE ${bearer} ${url}/logout
  curl -X POST ${url}/login
  curl -X POST -H "Authorization: Bearer $REFRESH_TOKEN" ${url}/refresh

Stop with Ctrl-C.`
}

function describeProcesses(urls: readonly string[], options: StartOptions): string {
  const [first = '', second = ''] = urls
  const bearer = '-H "Authorization: Bearer $TOKEN"'
  return `
${describePage(urls, options)}

tokenlib example application (${options.framework}) in ${urls.length} processes

${urls.map((url, at) => `  process ${at + 1}  ${url}`).join('\n')}

${describeOptions(options)}

Log in at one process, use the token at another, and log out; the lines below say when each process refuses.

  TOKEN=$(curl -s -X POST ${first}/login | sed 's/.*access_token":"\\([^"]*\\)".*/\\1/')
  curl ${bearer} ${second}/me
  curl -X DELETE ${bearer} ${first}/logout
  curl ${bearer} ${second}/me

Stop with Ctrl-C.
`
}

/** The address to open, on a line of its own. */
function describePage(urls: readonly string[], { store }: StartOptions): string {
  if (store.kind === 'callback') {
    return 'No page to open: it shows sessions, and --store callback keeps none.'
  }
  const addresses = urls.map((url) => `  ${url}${PAGE_PATH}`).join('\n')
  return urls.length === 1
    ? `Open this page in a browser:\n\n${addresses}`
    : `Open these pages in a browser, one for each process. They share their sessions:\n\n${addresses}`
}

/** What the page shows about the application. */
function createFacts({ framework, store, replica }: StartOptions): Readonly<Record<string, string>> {
  return {
    Framework: framework,
    Store: STORE_NAMES[store.kind],
    ...(replica && { Replica: `in memory, bound ${REPLICA_BOUND}` }),
  }
}

const STORE_NAMES: Readonly<Record<StartOptions['store']['kind'], string>> = {
  callback: 'none',
  memory: 'memory',
  sqlite: 'SQLite',
  redis: 'Redis',
  postgres: 'PostgreSQL',
}

function describeOptions({ store, replica, handleErrors }: StartOptions): string {
  const lines = [`Revocations are kept in ${describeStore(store)}.${describeKey()}`]
  if (replica) lines.push(`Checks are answered from a replica in memory, with a bound of ${REPLICA_BOUND}.`)
  lines.push(
    handleErrors
      ? 'Errors are handled: refused requests get RFC 6750 responses.'
      : 'Errors are not handled: a refused request is a 500. Try --handle-errors.',
  )
  return lines.join('\n')
}

function describeKey(): string {
  return process.env['JWT_SECRET_KEY']
    ? ''
    : '\nTokens are signed with a key that is generated at each start; set JWT_SECRET_KEY to keep them valid.'
}

await main(process.argv.slice(2))
