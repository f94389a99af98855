import { strict as assert } from 'node:assert'
import { createRequire } from 'node:module'
import { checkApi } from './shared/api.mjs'
import { environment, withServer } from './shared/server.mjs'

const redis = ['--bind', '127.0.0.1', '--port', '{port}', '--appendonly', 'yes', '--save', '', '--dir', '.']

await withServer(['redis-server', ...redis], async (origin) => {
  process.env.JWT_SECRET_KEY = environment.JWT_SECRET_KEY
  process.env.REDIS_URL = origin.replace('http:', 'redis:')

  // Lambda starts several instances of a function, and any of them may get a request.
  const instances = [createInstance(), createInstance()]
  for (const encoded of [false, true]) {
    let count = 0
    await checkApi((path, init) => invoke(instances[count++ % instances.length], path, init, encoded))
  }
})
// The connections of both instances are still open, as they are in a frozen instance.
process.exit()

function createInstance() {
  const require = createRequire(import.meta.url)
  const path = require.resolve('./build/handler.cjs')
  delete require.cache[path]
  return require(path).handler
}

/** Calls a handler with an event of an HTTP API, payload format 2.0, as API Gateway and function URLs send it. */
async function invoke(handler, path, { method = 'GET', headers = {}, body } = {}, isBase64Encoded = false) {
  const { cookie, ...others } = headers
  const event = {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString: '',
    // API Gateway takes the cookies out of the headers.
    ...(cookie !== undefined && cookie !== '' && { cookies: cookie.split('; ') }),
    headers: { ...others, host: 'abc.execute-api.eu-central-1.amazonaws.com', 'x-forwarded-proto': 'https' },
    requestContext: {
      accountId: '123456789012',
      apiId: 'abc',
      domainName: 'abc.execute-api.eu-central-1.amazonaws.com',
      domainPrefix: 'abc',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' },
      requestId: 'id',
      routeKey: '$default',
      stage: '$default',
      time: '12/Mar/2026:19:03:58 +0000',
      timeEpoch: 1_773_342_238_000,
    },
    ...(body !== undefined && {
      body: isBase64Encoded ? Buffer.from(body).toString('base64') : body,
    }),
    isBase64Encoded,
  }
  const result = await handler(event, {})
  // Cookies in a header would be joined by API Gateway, and lost.
  assert.equal(result.headers['set-cookie'], undefined)
  const answer = new Headers(result.headers)
  for (const line of result.cookies ?? []) answer.append('set-cookie', line)
  const content = result.isBase64Encoded ? Buffer.from(result.body, 'base64') : result.body
  return new Response(content, { status: result.statusCode, headers: answer })
}
