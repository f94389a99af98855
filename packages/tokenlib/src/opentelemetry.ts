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
import type { TokenManager } from './manager.js'
import { internalsOf, type ManagerInternals, readInternals } from './sessions/internals.js'
import type { CheckKind, StoreCall, StoreCallObserver, TokenCheck } from './observer.js'
import { createErrorTypes, type ErrorTypes, OTHER } from './opentelemetry/error-types.js'
import { assertOptions, type OptionNames } from './options.js'

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

const OPTIONS: OptionNames<InstrumentOptions> = {
  meterProvider: true,
  tracerProvider: true,
  includeSubject: true,
  name: true,
}

const SCOPE = 'tokenlib'

/**
 * Exports metrics of a manager, and a span for each call of its store, through OpenTelemetry; returns a function that
 * ends that.
 *
 * @example
 * const stop = instrument(tokens)
 */
export function instrument(tokens: ObservableManager, options: InstrumentOptions = {}): () => void {
  assertManager(tokens)
  assertOptions('instrument()', options, OPTIONS)
  const { includeSubject = false, name } = options
  if (typeof includeSubject !== 'boolean') throw new TypeError('includeSubject must be true or false')
  if (name !== undefined && (typeof name !== 'string' || name === '')) {
    throw new TypeError('name must be a text that is not empty')
  }
  const meterProvider = options.meterProvider ?? metrics.getMeterProvider()
  const tracerProvider = options.tracerProvider ?? trace.getTracerProvider()
  assertFirst(tokens, meterProvider)
  const internals = internalsOf(tokens)
  const own: Attributes = name === undefined ? {} : { 'tokenlib.manager.name': name }
  // Whatever fails, fails here: nothing is registered before every instrument has been created.
  const instruments = createInstruments(meterProvider.getMeter(SCOPE), own)
  const tracer = tracerProvider.getTracer(SCOPE)
  const toErrorType = createErrorTypes()

  const stops = [
    tokens.observe({
      onCheck(check) {
        instruments.recordCheck(check)
        if (includeSubject) setUser(check)
      },
      onStoreCall: (call) =>
        followStoreCall(tracer, call, { own, toErrorType, record: instruments.recordStoreCall }),
    }),
    ...countEvents(tokens, instruments, toErrorType),
    instruments.watchCollections(() => internals.readReplica()),
  ]
  const stop = (): void => {
    // The second call must not let go of somebody else's.
    if (stops.length === 0) return
    for (const end of stops.splice(0)) end()
    instrumented.get(tokens)?.delete(meterProvider)
  }
  instrumented.set(tokens, (instrumented.get(tokens) ?? new Set()).add(meterProvider))
  return stop
}

const instrumented = new WeakMap<ObservableManager, Set<MeterProvider>>()

// Every check would count twice.
function assertFirst(tokens: ObservableManager, provider: MeterProvider): void {
  if (instrumented.get(tokens)?.has(provider) !== true) return
  throw new TypeError(
    'instrument() was called for this manager before: call the function that it returned first, or pass another meterProvider',
  )
}

// By shape: the manager may come from another copy of this package.
function assertManager(tokens: ObservableManager): void {
  if (typeof tokens?.observe === 'function' && readInternals(tokens) !== null) return
  throw new TypeError(
    'instrument() takes a TokenManager; for chooseManager(), instrument each of the managers',
  )
}

// In seconds. A check of a known token takes microseconds, a round trip to a store up to JWT_REVOCATION_TIMEOUT.
const BOUNDARIES = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

type Instruments = ReturnType<typeof createInstruments>

function createInstruments(meter: Meter, own: Attributes) {
  const count = (name: string, unit: string, description: string): ((attributes?: Attributes) => void) => {
    const counter = meter.createCounter(name, { unit, description })
    return (attributes) => counter.add(1, { ...own, ...attributes })
  }
  // For what is rare: an alert sees the first one only if there was a zero before.
  const countFromZero: typeof count = (name, unit, description) => {
    meter.createCounter(name, { unit, description }).add(0, own)
    return count(name, unit, description)
  }
  const time = (name: string, description: string): ((ms: number, attributes: Attributes) => void) => {
    const advice = { explicitBucketBoundaries: BOUNDARIES }
    const histogram = meter.createHistogram(name, { unit: 's', description, advice })
    return (ms, attributes) => histogram.record(ms / 1000, { ...own, ...attributes })
  }
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(name, { unit, description })

  const checks = meter.createCounter('tokenlib.checks', { unit: '{check}', description: 'Checks of tokens' })
  const timeCheck = time('tokenlib.check.duration', 'Duration of checks, without those of the fast lane')
  const timeStoreCall = time('tokenlib.store.call.duration', 'Duration of calls of the store')
  const fresh = gauge(
    'tokenlib.replica.fresh',
    '{replica}',
    '1 if the replica answers from memory, otherwise 0',
  )
  const age = gauge('tokenlib.replica.age', 's', 'Time since the last complete read of the replica was sent')
  const bound = gauge('tokenlib.replica.bound', 's', 'Age up to which the replica is fresh')
  const entries = gauge('tokenlib.replica.entries', '{revocation}', 'Revocations in the replica')
  const passed = toCheckAttributes({ kind: 'request', lane: 'fast', outcome: 'accepted', code: null })
  // To add to a counter takes longer than the fast lane does: those are added when metrics are collected.
  let uncounted = 0
  const countPassed = (): void => {
    if (uncounted > 0) checks.add(uncounted, { ...own, ...passed })
    uncounted = 0
  }

  return {
    recordCheck(check: TokenCheck): void {
      if (check.lane === 'fast') return void uncounted++
      const attributes = toCheckAttributes(check)
      checks.add(1, { ...own, ...attributes })
      const { 'tokenlib.check.lane': _, ...timed } = attributes
      if (check.durationMs !== null) timeCheck(check.durationMs, timed)
    },
    recordStoreCall: timeStoreCall,
    countLogin: count('tokenlib.logins', '{login}', 'Log-ins'),
    countLogout: count('tokenlib.logouts', '{logout}', 'Log-outs'),
    countIssued: count('tokenlib.issued_tokens', '{token}', 'Tokens that were created'),
    countRefresh: count('tokenlib.refreshes', '{refresh}', 'New tokens for a refresh token'),
    countRepeat: count(
      'tokenlib.refresh.repeats',
      '{repeat}',
      'Refresh tokens that were exchanged again, from elsewhere or late',
    ),
    countReuse: countFromZero(
      'tokenlib.reuses',
      '{reuse}',
      'Refresh tokens that were used again, which ends the session',
    ),
    countRevocation: count('tokenlib.revocations', '{revocation}', 'Revocations that the store has taken'),
    countDataLoss: countFromZero(
      'tokenlib.store.data_losses',
      '{loss}',
      'Losses of data that the store noticed',
    ),
    countReplicaChange: count('tokenlib.replica.changes', '{change}', 'Changes of the state of the replica'),
    countKeyLoad: count('tokenlib.key.loads', '{load}', 'Loads of the keys of an issuer'),
    /** Reads what is not recorded at once whenever metrics are collected; returns a function that ends that. */
    watchCollections(read: ManagerInternals['readReplica']): () => void {
      const gauges = [fresh, age, bound, entries]
      const observe: Parameters<Meter['addBatchObservableCallback']>[0] = (result) => {
        countPassed()
        const state = read()
        if (state === null) return
        result.observe(fresh, state.isFresh ? 1 : 0, own)
        if (state.ageMs !== null) result.observe(age, state.ageMs / 1000, own)
        result.observe(bound, state.boundMs / 1000, own)
        result.observe(entries, state.entries, own)
      }
      meter.addBatchObservableCallback(observe, gauges)
      return () => {
        countPassed()
        meter.removeBatchObservableCallback(observe, gauges)
      }
    },
  }
}

function toCheckAttributes(check: Pick<TokenCheck, 'kind' | 'lane' | 'outcome' | 'code'>): Attributes {
  const { kind, lane, outcome, code } = check
  const isError = outcome === 'refused' || outcome === 'unavailable' || outcome === 'failed'
  return {
    'tokenlib.check.kind': kind,
    'tokenlib.check.lane': lane,
    'tokenlib.check.outcome': outcome,
    ...(isError && { 'error.type': code ?? OTHER }),
  }
}

// Only where the token is that of whoever sent the request.
const OF_SENDER: ReadonlySet<CheckKind> = new Set(['request', 'upgrade', 'message'])

function setUser({ kind, sub }: TokenCheck): void {
  if (sub !== null && OF_SENDER.has(kind)) trace.getActiveSpan()?.setAttribute('user.id', sub)
}

// Semantic conventions for database spans: INTERNAL for what runs in memory of the same process.
const IN_PROCESS: ReadonlySet<string> = new Set(['memory', 'sqlite'])

interface CallRecorder {
  readonly own: Attributes
  readonly toErrorType: ErrorTypes
  readonly record: (ms: number, attributes: Attributes) => void
}

function followStoreCall(
  tracer: Tracer,
  { operation, system }: StoreCall,
  { own, toErrorType, record }: CallRecorder,
): StoreCallObserver {
  const attributes = { 'db.system.name': system ?? OTHER, 'db.operation.name': operation }
  const kind = IN_PROCESS.has(system ?? '') ? SpanKind.INTERNAL : SpanKind.CLIENT
  const active = context.active()
  const span = tracer.startSpan(
    `${operation} tokenlib`,
    { kind, attributes: { ...own, ...attributes } },
    active,
  )
  return {
    // Spans of the instrumentation of the driver become children of this one.
    run: (start) => context.with(trace.setSpan(active, span), start),
    end({ durationMs, error }) {
      const failed = error === null ? {} : { 'error.type': toErrorType(error) }
      // No text: that of a driver may show an address, a statement or a value.
      if (error !== null) span.setAttributes(failed).setStatus({ code: SpanStatusCode.ERROR })
      span.end()
      record(durationMs, { ...attributes, ...failed })
    },
  }
}

function countEvents(
  tokens: ObservableManager,
  instruments: Instruments,
  toErrorType: ErrorTypes,
): (() => void)[] {
  const { countReplicaChange, countKeyLoad } = instruments
  return [
    tokens.on('issued', ({ type }) => instruments.countIssued({ 'tokenlib.token.type': type })),
    tokens.on('loggedIn', () => instruments.countLogin()),
    tokens.on('rejected', ({ code }) => {
      // Everything else that is refused is a check.
      if (code === 'SESSION_LIMIT_REACHED') instruments.countLogin({ 'error.type': code })
    }),
    tokens.on('loginFailed', ({ reason }) => {
      // A limit of sessions is counted where it refuses, whoever asked for the pair.
      if (reason !== 'sessionLimit') instruments.countLogin({ 'error.type': reason })
    }),
    tokens.on('loggedOut', () => instruments.countLogout()),
    tokens.on('refreshed', ({ outcome }) =>
      instruments.countRefresh({ 'tokenlib.refresh.outcome': outcome }),
    ),
    tokens.on('refreshRepeated', ({ isElsewhere }) =>
      instruments.countRepeat({ 'tokenlib.refresh.is_elsewhere': isElsewhere }),
    ),
    tokens.on('reuseDetected', () => instruments.countReuse()),
    tokens.on('revoked', ({ kind, reason }) =>
      instruments.countRevocation({ 'tokenlib.revocation.kind': kind, 'tokenlib.revocation.reason': reason }),
    ),
    tokens.on('storeLostData', () => instruments.countDataLoss()),
    tokens.on('replicaStale', () => countReplicaChange({ 'tokenlib.replica.change': 'stale' })),
    tokens.on('replicaFresh', () => countReplicaChange({ 'tokenlib.replica.change': 'fresh' })),
    tokens.on('replicaReset', () => countReplicaChange({ 'tokenlib.replica.change': 'reset' })),
    tokens.on('keysLoaded', ({ issuer }) => countKeyLoad({ 'tokenlib.issuer': issuer })),
    tokens.on('keysFailed', ({ issuer, cause }) =>
      countKeyLoad({ 'tokenlib.issuer': issuer, 'error.type': toErrorType(cause) }),
    ),
  ]
}
