// Counts the files of the built package that one request through Hono runs code of, from adapter to handler, and the
// lines, files and exported names of the package. npm run request-path
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Hono } from 'hono'
import * as tokenlib from 'tokenlib'
import { enforce } from 'tokenlib/hono'
import { createMemoryStore } from 'tokenlib/memory'
import { listExportedNames } from './gates/exported-names.js'

const WARM_UP_REQUESTS = 20

const root = new URL('..', import.meta.url)
const dist = new URL('dist/', root)

const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

for (const [name, options] of Object.entries({
  Hono: {},
  'Hono with the memory store': { revocation: createMemoryStore() },
})) {
  const { createToken, send } = createApplication(options)
  for (let count = 0; count < WARM_UP_REQUESTS; count += 1) await send(await createToken())
  const token = await createToken()
  printPath(`${name}, a token seen for the first time`, await record(() => send(token)))
  for (let count = 0; count < WARM_UP_REQUESTS; count += 1) await send(token)
  printPath(`${name}, a token seen before`, await record(() => send(token)))
}
printFigures()
session.disconnect()

/** An application with one guarded route. */
function createApplication(options) {
  const config = new tokenlib.TokenConfig({ JWT_SECRET_KEY: randomBytes(32) })
  const tokens = new tokenlib.TokenManager({ config, ...options })
  const app = new Hono().get('/', enforce(tokens.accessTokenRequired), (c) => c.text('ran'))
  return {
    createToken: async () => (await tokens.createTokenPair({ uid: 'ada' })).accessToken,
    async send(token) {
      const response = await app.request('/', { headers: { authorization: `Bearer ${token}` } })
      if (response.status !== 200) throw new Error(`The request was answered with ${response.status}`)
    },
  }
}

/** The files of the package that a task runs code of, each with its functions. */
async function record(task) {
  // Sets the counts back to zero.
  await session.post('Profiler.takePreciseCoverage')
  await task()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  return result
    .filter(({ url }) => url.startsWith(dist.href))
    .map(({ url, functions }) => ({ path: url.slice(root.href.length), functions: functions.filter(hasRun) }))
    .filter(({ functions }) => functions.length > 0)
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function hasRun({ ranges }) {
  return ranges.some(({ count }) => count > 0)
}

function printPath(title, files) {
  console.log(`${title}: ${files.length} files`)
  for (const { path, functions } of files) {
    const names = new Set(functions.map(({ functionName }) => functionName || '(anonymous)'))
    console.log(`  ${path}: ${[...names].join(', ')}`)
  }
  console.log('')
}

function printFigures() {
  const src = fileURLToPath(new URL('src', root))
  const files = readdirSync(src, { recursive: true }).filter((file) => file.endsWith('.ts'))
  const lines = files.map((file) => readFileSync(join(src, file), 'utf8').trimEnd().split('\n').length)
  console.log(`src: ${lines.reduce((sum, count) => sum + count, 0)} lines in ${files.length} files`)

  const names = listExportedNames(fileURLToPath(new URL('index.d.ts', dist))).size
  const values = Object.keys(tokenlib).length
  console.log(`root exports: ${names} names, ${values} values and ${names - values} types`)
}
