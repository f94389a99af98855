import { createApplication } from './application.js'
import { START } from './frameworks.js'
import { type ExampleOptions, parseOptions } from './options.js'

async function main(args: readonly string[]): Promise<void> {
  let options: ExampleOptions
  try {
    options = parseOptions(args)
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 2
    return
  }
  try {
    const server = await START[options.framework](createApplication(), options)
    console.log(describeServer(server.url, options))
    const stop = (): void => {
      void server.close().then(() => console.log('Stopped.'))
    }
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
  } catch (error) {
    console.error(
      `Cannot listen on port ${options.port}: ${(error as Error).message}. Choose another with --port.`,
    )
    process.exitCode = 1
  }
}

function describeServer(url: string, options: ExampleOptions): string {
  const bearer = '-H "Authorization: Bearer $TOKEN"'
  return `
tokenlib example application (${options.framework}) listening on ${url}

The blocklist is kept in memory: this process forgets it when it stops. ${
    options.handleErrors
      ? 'Errors are handled: refused requests get RFC 6750 answers.'
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

await main(process.argv.slice(2))
