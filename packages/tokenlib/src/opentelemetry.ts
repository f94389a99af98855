import {
  type Attributes,
  context,
  type Meter,
  type MeterProvider,
  metrics,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import { isTokenError } from './errors.js'
import type { TokenManager } from './manager.js'
import type { TokenEventName, TokenListener } from './events.js'
import type { CheckKind, StoreCall, StoreCallObserver, TokenCheck } from './observer.js'
import { flag, kindOf, type OptionKinds, parseOptions, text } from './options.js'
import { internalsOf, readInternals } from './sessions/internals.js'

/** What is exported, and through which providers. */
export interface InstrumentOptions {
  /** Default: the global one, which must be registered before. */
  readonly meterProvider?: MeterProvider
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider
  /** Whether the `sub` of an accepted token becomes `user.id` of the active span. Metrics never have it. Default `false`. */
  readonly includeSubject?: boolean
  /** Tells several managers of one process apart: becomes `tokenlib.manager.name`. */
  readonly name?: string
}

/** What is needed of a manager that is instrumented. */
export type ObservableManager = Pick<TokenManager<never, object>, 'observe' | 'on'>

const OPTIONS: OptionKinds<InstrumentOptions> = {
  meterProvider: kindOf('a MeterProvider', (value) => hasMethod(value, 'getMeter')),
  tracerProvider: kindOf('a TracerProvider', (value) => hasMethod(value, 'getTracer')),
  includeSubject: flag,
  name: text,
}

/**
 * Exports metrics of a manager, and a span for each call of its store, through OpenTelemetry. Returns a function that stops
 * the export.
 *
 * @example
 * const stop = instrument(tokens)
 */
export function instrument(tokens: ObservableManager, options: InstrumentOptions = {}): () => void {
  // By shape: the manager may come from another copy of this package.
  if (!hasMethod(tokens, 'observe') || readInternals(tokens) === null) {
    throw new TypeError(
      'instrument() takes a TokenManager; for chooseManager(), instrument each of the managers',
    )
  }
  const {
    includeSubject = false,
    name,
    meterProvider = metrics.getMeterProvider(),
    tracerProvider = trace.getTracerProvider(),
  } = parseOptions('instrument()', options, OPTIONS)
  const providers = instrumented.get(tokens) ?? new Set()
  // Every check would count twice.
  if (providers.has(meterProvider)) {
    throw new TypeError(
      'instrument() was called for this manager before: call the function that it returned first, or pass another meterProvider',
    )
  }
  const own: Attributes = name === undefined ? {} : { 'tokenlib.manager.name': name }
  const toErrorType = createErrorTypes()
  // Every instrument is created before anything is registered: if one fails, nothing is left behind.
  const meter = meterProvider.getMeter('tokenlib')
  const checks = createCheckMetrics(meter, own)
  const followStoreCall = createStoreCalls(meter, tracerProvider.getTracer('tokenlib'), own, toErrorType)
  const listeners = createListeners(meter, own, toErrorType)

  const stops = [
    watchReplica(meter, own, tokens, checks.countAll),
    tokens.observe({
      onCheck(check) {
        checks.record(check)
        if (!includeSubject || check.sub === null || !OF_SENDER.has(check.kind)) return
        trace.getActiveSpan()?.setAttribute('user.id', check.sub)
      },
      onStoreCall: followStoreCall,
    }),
    ...Object.entries(listeners).map(([event, listener]) => tokens.on(event as never, listener as never)),
  ]
  instrumented.set(tokens, providers.add(meterProvider))
  return () => {
    // A second call must not remove what a later instrument() has registered.
    if (stops.length === 0) return
    for (const stop of stops.splice(0)) stop()
    providers.delete(meterProvider)
  }
}

const instrumented = new WeakMap<ObservableManager, Set<MeterProvider>>()

function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function'
}

// In seconds. A check of a known token takes microseconds, a round trip to a store up to JWT_REVOCATION_TIMEOUT.
const BOUNDARIES = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

function createTimer(
  meter: Meter,
  name: string,
  description: string,
): (ms: number, attributes: Attributes) => void {
  const advice = { explicitBucketBoundaries: BOUNDARIES }
  const histogram = meter.createHistogram(name, { unit: 's', description, advice })
  return (ms, attributes) => histogram.record(ms / 1000, attributes)
}

function createCheckMetrics(meter: Meter, own: Attributes) {
  const checks = meter.createCounter('tokenlib.checks', { unit: '{check}', description: 'Checks of tokens' })
  const time = createTimer(meter, 'tokenlib.check.duration', 'Duration of checks, except in the fast lane')
  // There are few kinds of results, so the attributes of each are built once.
  const results = new Map<string, ReturnType<typeof createResult>>()
  const toResult = (check: Omit<TokenCheck, 'durationMs' | 'sub'>) => {
    const key = `${check.kind} ${check.lane} ${check.outcome} ${check.code}`
    const result = results.get(key) ?? createResult(own, check)
    results.set(key, result)
    return result
  }
  const passed = toResult({ kind: 'request', lane: 'fast', outcome: 'accepted', code: null })
  return {
    record(check: TokenCheck): void {
      const result = check.lane === 'fast' ? passed : toResult(check)
      result.uncounted++
      if (check.durationMs !== null) time(check.durationMs, result.timed)
    },
    // Adding to a counter takes longer than the fast lane does, so checks are added when metrics are collected.
    countAll: (): void => {
      for (const result of results.values()) {
        if (result.uncounted > 0) checks.add(result.uncounted, result.counted)
        result.uncounted = 0
      }
    },
  }
}

function createResult(
  own: Attributes,
  { kind, lane, outcome, code }: Omit<TokenCheck, 'durationMs' | 'sub'>,
) {
  const isError = outcome === 'refused' || outcome === 'unavailable' || outcome === 'failed'
  const timed: Attributes = {
    ...own,
    'tokenlib.check.kind': kind,
    'tokenlib.check.outcome': outcome,
    ...(isError && { 'error.type': code ?? OTHER }),
  }
  return { timed, counted: { ...timed, 'tokenlib.check.lane': lane }, uncounted: 0 }
}

// Only for checks in which the sender of the request presents its own token.
const OF_SENDER: ReadonlySet<CheckKind> = new Set(['request', 'upgrade', 'message'])

// Semantic conventions for database spans: INTERNAL for what runs in memory of the same process.
const IN_PROCESS: ReadonlySet<string> = new Set(['memory', 'sqlite'])

function createStoreCalls(
  meter: Meter,
  tracer: Tracer,
  own: Attributes,
  toErrorType: ErrorTypes,
): (call: StoreCall) => StoreCallObserver {
  const time = createTimer(meter, 'tokenlib.store.call.duration', 'Duration of calls of the store')
  return ({ operation, system }) => {
    const kind = IN_PROCESS.has(system ?? '') ? SpanKind.INTERNAL : SpanKind.CLIENT
    const attributes = { ...own, 'db.system.name': system ?? OTHER, 'db.operation.name': operation }
    const active = context.active()
    const span = tracer.startSpan(`${operation} tokenlib`, { kind, attributes }, active)
    return {
      // Spans of the instrumentation of the driver become children of this one.
      run: (start) => context.with(trace.setSpan(active, span), start),
      end({ durationMs, error }) {
        const failed = error === null ? null : { 'error.type': toErrorType(error) }
        // Without the message, because a driver's message may contain an address, a statement or a value.
        if (failed !== null) span.setAttributes(failed).setStatus({ code: SpanStatusCode.ERROR })
        span.end()
        time(durationMs, failed === null ? attributes : { ...attributes, ...failed })
      },
    }
  }
}

/** Observes the replica whenever metrics are collected. Returns a function that stops it. */
function watchReplica(
  meter: Meter,
  own: Attributes,
  tokens: ObservableManager,
  onCollect: () => void,
): () => void {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(`tokenlib.replica.${name}`, { unit, description })
  const fresh = gauge('fresh', '{replica}', '1 if the replica answers from memory, otherwise 0')
  const age = gauge('age', 's', 'Time since the last complete read of the replica was sent')
  const bound = gauge('bound', 's', 'Age up to which the replica is fresh')
  const entries = gauge('entries', '{revocation}', 'Revocations in the replica')
  const gauges = [fresh, age, bound, entries]
  const observe: Parameters<Meter['addBatchObservableCallback']>[0] = (result) => {
    onCollect()
    const state = internalsOf(tokens).readReplica()
    if (state === null) return
    result.observe(fresh, state.isFresh ? 1 : 0, own)
    if (state.ageMs !== null) result.observe(age, state.ageMs / 1000, own)
    result.observe(bound, state.boundMs / 1000, own)
    result.observe(entries, state.entries, own)
  }
  meter.addBatchObservableCallback(observe, gauges)
  return () => {
    onCollect()
    meter.removeBatchObservableCallback(observe, gauges)
  }
}

type Listeners = { readonly [Name in TokenEventName]?: TokenListener<Name> }

function createListeners(meter: Meter, own: Attributes, toErrorType: ErrorTypes): Listeners {
  const counter = (name: string, unit: string, description: string) => {
    const created = meter.createCounter(`tokenlib.${name}`, { unit, description })
    return (attributes?: Attributes, value = 1) => created.add(value, { ...own, ...attributes })
  }
  const issued = counter('issued_tokens', '{token}', 'Tokens that were created')
  const login = counter('logins', '{login}', 'Logins')
  const logout = counter('logouts', '{logout}', 'Logouts')
  const refresh = counter('refreshes', '{refresh}', 'New tokens for a refresh token')
  const repeat = counter(
    'refresh.repeats',
    '{repeat}',
    'Refresh tokens exchanged again, from elsewhere or late',
  )
  const reuse = counter('reuses', '{reuse}', 'Refresh tokens that were used again, which ends the session')
  const revocation = counter('revocations', '{revocation}', 'Revocations that the store has taken')
  const dataLoss = counter('store.data_losses', '{loss}', 'Losses of data that the store noticed')
  const replica = counter('replica.changes', '{change}', 'Changes of the state of the replica')
  const keyLoad = counter('key.loads', '{load}', 'Loads of the keys of an issuer')
  // Rare events: an alert notices the first one only if the counter was exported as zero before.
  reuse({}, 0)
  dataLoss({}, 0)
  return {
    issued: ({ type }) => issued({ 'tokenlib.token.type': type }),
    loggedIn: () => login(),
    // All other rejections are counted as checks. The session limit is counted here, and not as a failed login: not every
    // login goes through the session routes.
    rejected: ({ code }) => code === 'SESSION_LIMIT_REACHED' && login({ 'error.type': code }),
    loginFailed: ({ reason }) => reason !== 'sessionLimit' && login({ 'error.type': reason }),
    loggedOut: () => logout(),
    refreshed: ({ outcome }) => refresh({ 'tokenlib.refresh.outcome': outcome }),
    refreshRepeated: ({ isElsewhere }) => repeat({ 'tokenlib.refresh.is_elsewhere': isElsewhere }),
    reuseDetected: () => reuse(),
    revoked: ({ kind, reason }) =>
      revocation({ 'tokenlib.revocation.kind': kind, 'tokenlib.revocation.reason': reason }),
    storeLostData: () => dataLoss(),
    replicaStale: () => replica({ 'tokenlib.replica.change': 'stale' }),
    replicaFresh: () => replica({ 'tokenlib.replica.change': 'fresh' }),
    replicaReset: () => replica({ 'tokenlib.replica.change': 'reset' }),
    keysLoaded: ({ issuer }) => keyLoad({ 'tokenlib.issuer': issuer }),
    keysFailed: ({ issuer, cause }) =>
      keyLoad({ 'tokenlib.issuer': issuer, 'error.type': toErrorType(cause) }),
  }
}

// Semantic conventions: the fallback value if no low-cardinality value is known.
const OTHER = '_OTHER'
// Matches our codes, and the codes of Node, PostgreSQL and most drivers.
const CODE = /^[A-Z0-9][A-Z0-9_]{1,39}$/
// However many a driver may have.
const MAX_ERROR_TYPES = 100
// `fetch` hides the error of the network below one of its own.
const MAX_CAUSES = 4

type ErrorTypes = (error: unknown) => string

// Returns the `error.type` of an error: one of a limited number of codes, never a text that a client can choose.
function createErrorTypes(): ErrorTypes {
  const known = new Set<string>()
  const toBounded = (code: string): string => {
    if (known.has(code)) return code
    if (!CODE.test(code) || known.size >= MAX_ERROR_TYPES) return OTHER
    known.add(code)
    return code
  }
  // The code of what caused an error of ours, if it has one, says more than our own.
  return (error) => {
    let cause = isTokenError(error) ? error.cause : error
    for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
      const { code } = cause as { readonly code?: unknown }
      if (typeof code === 'string') return toBounded(code)
      cause = cause.cause
    }
    return isTokenError(error) ? toBounded(error.code) : OTHER
  }
}
