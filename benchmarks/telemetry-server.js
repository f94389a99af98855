import { randomBytes } from 'node:crypto'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import fastify from 'fastify'
import { readCpu, serveParent } from './child.js'

const TOKENS = 1000

serveParent(async ({ build, hasCheck, hasSdk, isInstrumented, isAwaited, exportMs, collector }) => {
  const { TokenConfig, TokenManager } = await import(`${build}index.js`)
  const { createMemoryStore } = await import(`${build}memory.js`)
  const { enforce, handleErrors } = await import(`${build}fastify.js`)
  const config = new TokenConfig({ JWT_SECRET_KEY: randomBytes(32), JWT_ACCESS_TOKEN_EXPIRES: '1d' })
  const memory = createMemoryStore({ allowInProduction: true })
  const revocation = isAwaited ? { ...memory, lookup: (keys) => memory.lookup(keys) } : memory
  const tokens = new TokenManager({ config, store: revocation })
  await tokens.ready()
  const providers = hasSdk ? startSdk(collector, exportMs) : null
  if (isInstrumented) (await import(`${build}opentelemetry.js`)).instrument(tokens, providers)

  const app = fastify()
  app.setErrorHandler(handleErrors())
  const check = hasCheck ? { onRequest: enforce(tokens.accessTokenRequired) } : {}
  app.get('/', check, () => ({ ok: true }))
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  await assertAnswers(url, tokens, hasCheck)
  const list = Array.from({ length: TOKENS }, (_, at) => tokens.createAccessToken({ uid: `user-${at}` }))
  const loop = await createLoop(build, tokens, list)
  return {
    ready: { url, tokens: list },
    answer: (question) => (question === 'cpu' ? readCpu() : loop(question)),
  }
})

// The check alone, as `enforce` of an adapter does it for a token that is known; returns the CPU time of each.
async function createLoop(build, tokens, list) {
  const { createEnforcer, rememberView } = await import(`${build}kit.js`)
  const createView = ({ authorization }) => ({
    method: 'GET',
    url: '/',
    header: (name) => (name === 'authorization' ? authorization : null),
    body: async () => undefined,
  })
  const enforcer = createEnforcer([tokens.accessTokenRequired], {
    readHeader: ({ authorization }) => authorization,
    toView: (source) => rememberView(source, createView),
  })
  const headers = list.map((token) => `Bearer ${token}`)
  return async (checks) => {
    for (const authorization of [...headers, ...headers]) await enforcer.enforce({ authorization })
    const before = readCpu()
    let passed = 0
    for (let at = 0; at < checks; at++) {
      if (enforcer.passesNow({ authorization: headers[at % headers.length] })) passed++
    }
    // Of two tokens in one place of the map, one is remembered.
    if (passed < 0.99 * checks) throw new Error(`${checks - passed} checks did not pass`)
    return (readCpu() - before) / checks
  }
}

function startSdk(collector, exportMs) {
  const exporter = new OTLPMetricExporter({ url: `${collector}/v1/metrics` })
  const meterProvider = new MeterProvider({
    readers: [
      new PeriodicExportingMetricReader({
        exporter,
        exportIntervalMillis: exportMs,
        exportTimeoutMillis: 900,
      }),
    ],
  })
  // Without a metric, the SDK exports nothing, and its own cost would look too small.
  meterProvider.getMeter('application').createCounter('application.starts').add(1)
  const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url: `${collector}/v1/traces` }))
  const tracerProvider = new NodeTracerProvider({ spanProcessors: [processor] })
  tracerProvider.register()
  return { meterProvider, tracerProvider }
}

// Throws unless the route is guarded, and lets a good token pass.
async function assertAnswers(url, tokens, hasCheck) {
  const send = async (headers) => (await fetch(url, { headers })).status
  const good = await send({ authorization: `Bearer ${tokens.createAccessToken({ uid: 'ada' })}` })
  const missing = await send({})
  if (good !== 200 || missing !== (hasCheck ? 401 : 200))
    throw new Error(`Unexpected answers: ${good}, ${missing}`)
}
