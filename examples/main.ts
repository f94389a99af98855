import { RevocationUnavailableError } from 'tokenlib'
import { START } from './frameworks.js'
import { type OpenApplication, openApplication } from './open-application.js'
import { parseOptions, type StartOptions, USAGE, wantsHelp } from './options.js'
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
  let opened: OpenApplication
  try {
    opened = await openApplication(options.store)
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
  console.log(describeServer(server.url, options))
  const stop = async (): Promise<void> => {
    await server.close()
    await opened.close()
    console.log('Stopped.')
  }
  process.once('SIGINT', () => void stop())
  process.once('SIGTERM', () => void stop())
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
tokenlib example application (${options.framework}) listening on ${url}

Revocations are kept in ${describeStore(options.store)}.${describeKey()}
${
  options.handleErrors
    ? 'Errors are handled: refused requests get RFC 6750 responses.'
    : 'Errors are not handled: a refused request is a 500. Try --handle-errors.'
}

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

function describeKey(): string {
  return process.env['JWT_SECRET_KEY']
    ? ''
    : '\nTokens are signed with a key that is generated at each start; set JWT_SECRET_KEY to keep them valid.'
}

await main(process.argv.slice(2))
