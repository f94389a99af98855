import { isPromise, settleQuietly, toRejection } from '../promises.js'
import { type RequestSource, toRequestView } from '../request/request-source.js'
import { readNote, writeNote } from '../request/notes.js'
import type { RequestView } from '../request/view.js'

/** A function of the request that returns a value or throws; what routes are guarded with. */
export type Dependency<Value> = (request: RequestSource) => Value | Promise<Value>

/** A dependency of this library: always a promise, and the same work only once for a request. */
export type TokenDependency<Value> = (request: RequestSource) => Promise<Value>

/**
 * The dependencies of these values, by name or position. One whose value is always `undefined` does not compile: it
 * checks nothing that anybody waits for.
 */
export type Dependencies<Values> = {
  readonly [Name in keyof Values]: Dependency<Values[Name]> & Answering<Values[Name]>
}

/** What a dependency must be beside a function, so that one whose value is always `undefined` does not compile. */
export type Answering<Value> = [Value] extends [never]
  ? unknown
  : 0 extends 1 & Value
    ? unknown
    : [Value] extends [undefined | void]
      ? ['A dependency must return a value, not', Value]
      : unknown

/** What a dependency returns, awaited. */
export type DependencyValue<Given> = Given extends Dependency<infer Value> ? Value : never

/** The payload that the dependencies of a manager return: `PayloadOf<typeof tokens>`. */
export type PayloadOf<Manager extends { readonly accessTokenRequired: Dependency<unknown> }> =
  DependencyValue<Manager['accessTokenRequired']>

/** Several dependencies, by the names their values are to have. */
export type NamedDependencies = Readonly<Record<string, Dependency<unknown>>>

/** The values of several dependencies, by name. */
export type DependencyValues<Dependencies> = {
  readonly [Name in keyof Dependencies]: DependencyValue<Dependencies[Name]>
}

/** A dependency as guards ask it: at once, unless something must be waited for. */
export type Check<Value> = (request: RequestSource) => Value | Promise<Value>

// The dependencies of this library without their promise.
const ownChecks = new WeakMap<Dependency<unknown>, Check<unknown>>()

/** A dependency that does its work once per request, however often and wherever it is used. */
export function rememberPerRequest<Value>(
  run: (view: RequestView) => Value | Promise<Value>,
): TokenDependency<Value> {
  const check = (request: RequestSource): Value | Promise<Value> => {
    const view = toRequestView(request)
    const known = readNote(view, run) as Value | Promise<Value> | undefined
    if (known !== undefined) return known
    const result = attempt(run, view)
    writeNote(view, run, result)
    return result
  }
  const dependency = (request: RequestSource): Promise<Value> => {
    const answer = (async () => check(request))()
    startedHere?.push(answer)
    return answer
  }
  ownChecks.set(dependency, check)
  return dependency
}

// A refusal is remembered like any other result, as a promise that rejects.
function attempt<Value>(
  run: (view: RequestView) => Value | Promise<Value>,
  view: RequestView,
): Value | Promise<Value> {
  try {
    return run(view)
  } catch (error) {
    return toRejection(error)
  }
}

/** The check behind a dependency, whoever wrote it, or `TypeError`. */
export function toCheck<Value>(dependency: Dependency<Value>): Check<Value> {
  if (typeof dependency !== 'function') throw new TypeError('A dependency must be a function')
  const own = ownChecks.get(dependency) as Check<Value> | undefined
  const run = own ?? watchStarted(dependency)
  return (request) => {
    try {
      const value = run(request)
      return isPromise(value) ? Promise.resolve(value).then(parseValue, rethrow) : parseValue(value)
    } catch (thrown) {
      return rethrow(thrown)
    }
  }
}

// What dependencies of this library were called by the one that runs, so that their promises can be told apart from
// those that a handler drops.
let startedHere: Promise<unknown>[] | null = null

// A dependency that drops the promise of another is refused for returning nothing. The rejection that nobody waits for
// must not end the process as well, since every request without a token could cause it.
function watchStarted<Value>(dependency: Dependency<Value>): Check<Value> {
  return (request) => {
    const outer = startedHere
    const started: Promise<unknown>[] = []
    startedHere = started
    try {
      const value = dependency(request)
      if (value === undefined) for (const answer of started) void settleQuietly(answer)
      else if (isPromise(value)) void quietIfNothing(value, started)
      return value
    } finally {
      startedHere = outer
    }
  }
}

async function quietIfNothing(
  value: PromiseLike<unknown>,
  started: readonly Promise<unknown>[],
): Promise<void> {
  const isNothing = await Promise.resolve(value).then(
    (found) => found === undefined,
    () => false,
  )
  if (isNothing) for (const answer of started) void settleQuietly(answer)
}

/** One check of several dependencies, in the order they are written; the first that throws ends it. */
export function toGuard(dependencies: readonly Dependency<unknown>[]): Check<void> {
  const checks = toChecks(dependencies)
  const guard = (request: RequestSource, from: number): void | Promise<void> => {
    for (let at = from; at < checks.length; at++) {
      const value = checks[at]?.(request)
      if (isPromise(value)) {
        return value.then((later) => {
          assertPassed(later)
          return guard(request, at + 1)
        })
      }
      assertPassed(value)
    }
  }
  return (request) => guard(request, 0)
}

/** One check of named dependencies, in the order they are written, that gathers their values. */
export function toInjector<Dependencies extends NamedDependencies>(
  dependencies: Dependencies,
): Check<DependencyValues<Dependencies>> {
  const names = Object.keys(dependencies)
  const checks = toChecks(Object.values(dependencies))
  const gather = (request: RequestSource, values: Record<string, unknown>, from: number): unknown => {
    for (let at = from; at < checks.length; at++) {
      const value = checks[at]?.(request)
      const add = (found: unknown): void => void (values[names[at] as string] = found)
      if (isPromise(value)) return value.then(add).then(() => gather(request, values, at + 1))
      add(value)
    }
    return values
  }
  return (request) => gather(request, {}, 0) as DependencyValues<Dependencies>
}

// Guards of other libraries return `false` to refuse. Here only a throw refuses, and the value of a guard is dropped.
function assertPassed(value: unknown): void {
  if (value !== false && !(value instanceof Error)) return
  throw new TypeError('A dependency that refuses a request must throw an error, not return one or false')
}

// A route must not stay open by a slip of the pen.
function toChecks(dependencies: readonly Dependency<unknown>[]): readonly Check<unknown>[] {
  if (dependencies.length === 0) throw new TypeError('At least one dependency is needed')
  return dependencies.map(toCheck)
}

// `enforce(() => tokens.accessTokenRequired)` returns a dependency and runs none; `enforce((request) => {
// tokens.accessTokenRequired(request) })` runs one and drops its promise. Both would let every request pass.
function parseValue<Value>(value: Value): Value {
  if (value === undefined) {
    throw new TypeError('A dependency returned undefined: return what it found, or null for nothing')
  }
  if (typeof value !== 'function') return value
  throw new TypeError('A dependency returned a function: pass that function itself')
}

// Frameworks take some thrown values for no error at all: undefined in Koa, 'route' in Express.
function rethrow(thrown: unknown): never {
  if (typeof thrown === 'object' && thrown !== null) throw thrown as Error
  throw new Error('A dependency threw something that is no error', { cause: thrown })
}
