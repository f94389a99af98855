import type { TokenType } from '../tokens/payload.js'
import { isPromise, settleQuietly } from '../runtime.js'
import { type RequestSource, toRequestView } from '../http/request-source.js'
import { attach, readAttached, type RequestReader, type RequestView } from '../http/view.js'
import { nameScopes } from './authenticate.js'
import { createPass, type FastLane } from './fast-lane.js'

/** A function of the request that returns a value or throws. It guards routes. */
export type Dependency<Value> = (request: RequestSource) => Value | Promise<Value>

/** A dependency of this library: returns a promise, and does its work once per request. */
export type TokenDependency<Value> = (request: RequestSource) => Promise<Value>

/**
 * The dependencies of these values, by name or position. A dependency whose value is always `undefined` does not compile:
 * it probably forgot to return a promise.
 */
export type Dependencies<Values> = {
  readonly [Name in keyof Values]: Dependency<Values[Name]> & Answering<Values[Name]>
}

/** Makes a dependency whose value is always `undefined` a compile error. */
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

/** What a dependency of this library is made of. */
export interface DependencyParts<Value> {
  /** `null` for one that always has to wait. */
  readonly lane: FastLane | null
  /** The type of token it needs; `null` if another dependency decides that. */
  readonly type: TokenType | 'any' | null
  /** The scopes that give access to what it guards. */
  readonly scopes: readonly string[]
  /** Finds its value; `lane` is `null` where an adapter has tried that already. */
  run(view: RequestView, lane: FastLane | null): Promise<Value>
}

/** The internals of one of our dependencies. `resolve` finds its value without the fast lane. */
type OwnDependency = Omit<DependencyParts<unknown>, 'run'> & { readonly resolve: Dependency<unknown> }

const ownDependencies = new WeakMap<Dependency<unknown>, OwnDependency>()

/** A dependency that does its work once per request, however often and wherever it is used. */
export function createDependency<Value>(parts: DependencyParts<Value>): TokenDependency<Value> {
  const runOnce = (request: RequestSource, lane: FastLane | null): Promise<Value> => {
    const view = toRequestView(request)
    const known = readAttached(view, parts) as Promise<Value> | undefined
    if (known !== undefined) return known
    const result = parts.run(view, lane)
    attach(view, parts, result)
    return result
  }
  const dependency = (request: RequestSource): Promise<Value> => {
    const result = (async () => runOnce(request, parts.lane))()
    started?.push(result)
    return result
  }
  ownDependencies.set(dependency, { ...parts, resolve: (request) => runOnce(request, null) })
  return dependency
}

/** The token type of the first dependency that has one; `access` by default. */
export function requiredTokenType(dependencies: readonly Dependency<unknown>[]): TokenType | 'any' {
  return dependencies.flatMap((dependency) => ownDependencies.get(dependency)?.type ?? [])[0] ?? 'access'
}

/** The scopes that dependencies of this library demand together. */
export function requiredScopes(dependencies: readonly Dependency<unknown>[]): readonly string[] {
  return dependencies.flatMap((dependency) => ownDependencies.get(dependency)?.scopes ?? [])
}

/** Several dependencies that a request must pass. */
export interface Enforcer<Source> {
  /** Whether all dependencies pass synchronously. After `false`, call `enforce`, which decides. Never throws. */
  passesNow(source: Source): boolean
  /** Rejects unless every dependency passes; they run in the order they are written. */
  enforce(source: Source): Promise<void>
}

/** Implements `enforce` of an adapter. */
export function createEnforcer<Source>(
  dependencies: readonly Dependency<unknown>[],
  reader: RequestReader<Source>,
): Enforcer<Source> {
  const calls = toCalls(dependencies)
  const scopes = requiredScopes(dependencies)
  return {
    passesNow: createPass(toLanes(dependencies), reader),
    enforce: (source) =>
      // The dependency that refuses a request may not be the one that demands scopes.
      nameScopes(scopes, async () => {
        const view = reader.toView(source)
        for (const call of calls) assertPassed(await call(view))
      }),
  }
}

/** Named dependencies whose values a handler receives. */
export interface Injector<Source, Values> {
  /** The values, if all are known synchronously. After `null`, call `resolve`, which decides. Never throws. */
  resolveNow(source: Source): Values | null
  /** The values; the dependencies run in the order they are written. */
  resolve(source: Source): Promise<Values>
}

/** Implements `inject` of an adapter. */
export function createInjector<Source, Named extends NamedDependencies>(
  dependencies: Named,
  reader: RequestReader<Source>,
): Injector<Source, DependencyValues<Named>> {
  if (typeof dependencies !== 'object' || dependencies === null) {
    throw new TypeError('inject takes dependencies by name: inject({ payload: tokens.accessTokenRequired })')
  }
  const names = Object.keys(dependencies)
  const list = Object.values(dependencies)
  const calls = toCalls(list)
  const pass = createPass(toLanes(list), reader)
  const scopes = requiredScopes(list)
  const toValues = (found: readonly unknown[]): DependencyValues<Named> => {
    const values: Record<string, unknown> = {}
    for (const [at, name] of names.entries()) values[name] = found[at]
    return values as DependencyValues<Named>
  }
  return {
    resolveNow(source) {
      const found: unknown[] = []
      return pass(source, found) ? toValues(found) : null
    },
    resolve: (source) =>
      nameScopes(scopes, async () => {
        const view = reader.toView(source)
        const found: unknown[] = []
        for (const call of calls) found.push(await call(view))
        return toValues(found)
      }),
  }
}

// All or none: a dependency without a lane must be awaited anyway.
function toLanes(dependencies: readonly Dependency<unknown>[]): readonly FastLane[] | null {
  const lanes = dependencies.flatMap((dependency) => ownDependencies.get(dependency)?.lane ?? [])
  return lanes.length === dependencies.length ? lanes : null
}

// A list that is empty by mistake must not leave a route open.
function toCalls(
  dependencies: readonly Dependency<unknown>[],
): readonly ((view: RequestView) => Promise<unknown>)[] {
  if (dependencies.length === 0) throw new TypeError('At least one dependency is needed')
  return dependencies.map(callDependency)
}

/** Calls any dependency and checks what it returns; `TypeError` for a value that is not a function. */
export function callDependency<Value>(
  dependency: Dependency<Value>,
): (request: RequestSource) => Promise<Value> {
  if (typeof dependency !== 'function') {
    throw new TypeError('A dependency must be a function, such as tokens.accessTokenRequired')
  }
  const own = ownDependencies.get(dependency)
  const run = own === undefined ? watchStarted(dependency) : own.resolve
  return async (request) => {
    let value: Value
    try {
      value = (await run(request)) as Value
    } catch (thrown) {
      // Frameworks ignore some thrown values: undefined in Koa, 'route' in Express.
      if (typeof thrown === 'object' && thrown !== null) throw thrown
      throw new Error('A dependency threw a value that is not an Error', { cause: thrown })
    }
    assertValue(value)
    return value
  }
}

// `enforce(() => tokens.accessTokenRequired)` returns a dependency and runs none; `enforce((request) => {
// tokens.accessTokenRequired(request) })` runs one and drops its promise. Both would let every request pass.
function assertValue(value: unknown): void {
  if (value === undefined) {
    throw new TypeError('A dependency returned undefined: return what it found, or null for nothing')
  }
  if (typeof value === 'function') {
    throw new TypeError('A dependency returned a function: pass that function itself')
  }
}

// Guards of other libraries return `false` to refuse. Here only a throw refuses, and the value of a guard is dropped.
function assertPassed(value: unknown): void {
  if (value !== false && !(value instanceof Error)) return
  throw new TypeError('A dependency that refuses a request must throw an error, not return one or false')
}

// The promises of our dependencies that the running dependency has started.
let started: Promise<unknown>[] | null = null

// A dependency that drops the promise of another is rejected for returning nothing. The unhandled rejection must not also
// end the process, since any request without a token could cause it.
function watchStarted<Value>(dependency: Dependency<Value>): Dependency<Value> {
  return (request) => {
    const outer = started
    const own: Promise<unknown>[] = []
    started = own
    try {
      const value = dependency(request)
      if (value === undefined) for (const promise of own) void settleQuietly(promise)
      else if (isPromise(value)) void settleIfNothing(value, own)
      return value
    } finally {
      started = outer
    }
  }
}

async function settleIfNothing(value: PromiseLike<unknown>, own: readonly Promise<unknown>[]): Promise<void> {
  const isNothing = await Promise.resolve(value).then(
    (found) => found === undefined,
    () => false,
  )
  if (isNothing) for (const promise of own) void settleQuietly(promise)
}
