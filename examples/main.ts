import { type AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { createApplication } from './application.js'
import { createApp as createFetchApp } from './fetch.js'
import { createApp as createHonoApp } from './hono.js'
import { type ExampleOptions, parseOptions } from './options.js'

function main(args: readonly string[]): void {
  let options: ExampleOptions
  try {
    options = parseOptions(args)
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 2
    return
  }
  const application = createApplication()
  const app =
    options.framework === 'fetch' ? createFetchApp(application, options) : createHonoApp(application, options)
  const server = serve({ fetch: app.fetch, port: options.port, hostname: '127.0.0.1' }, (address) =>
    console.log(describeServer(address, options)),
  )
  server.on('error', (error) => {
    console.error(`Cannot listen on port ${options.port}: ${error.message}. Choose another with --port.`)
    process.exitCode = 1
  })
  const stop = (): void => {
    console.log('Stopped.')
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

function describeServer({ address, port }: AddressInfo, options: ExampleOptions): string {
  const url = `http://${address}:${port}`
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

main(process.argv.slice(2))
